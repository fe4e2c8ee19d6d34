//! A model at a provider: how it is asked, and what its refusals and failures mean.
//!
//! Each call has a line, a client and a time of its own, and names the endpoint and the key: `genai` looks
//! nothing up, neither in the environment nor by the name of a model. No text that is made here repeats what
//! a provider said or what it was asked: both may hold what is nobody's business. It must not know what a model
//! is asked for.

use std::time::Duration;

use genai::adapter::AdapterKind;
use genai::chat::{ChatOptions, ChatRequest, StopReason, Usage};
use genai::embed::{EmbedRequest, EmbedResponse};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, ModelIden, ServiceTarget, webc};
use reqwest::{StatusCode, Url};
use sillok_core::ports::PortError;
use tracing::instrument::WithSubscriber as _;
use tracing::subscriber::NoSubscriber;

use crate::Error;
use crate::config::Section;
use crate::line::{Far, Line};
use crate::rate::Turns;
use crate::secret::Secret;

/// Whose model it is, and so in which form it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Provider {
    OpenAi,
    Gemini,
    Anthropic,
    Ollama,
}

impl Provider {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Gemini => "gemini",
            Self::Anthropic => "anthropic",
            Self::Ollama => "ollama",
        }
    }

    pub(crate) const fn default_endpoint(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1/",
            Self::Gemini => "https://generativelanguage.googleapis.com/v1beta/",
            Self::Anthropic => "https://api.anthropic.com/v1/",
            Self::Ollama => "http://localhost:11434/",
        }
    }

    pub(crate) const fn default_model(self) -> Option<&'static str> {
        match self {
            Self::Gemini => Some("gemini-1.5-flash"),
            Self::OpenAi | Self::Anthropic | Self::Ollama => None,
        }
    }

    const fn adapter(self) -> AdapterKind {
        match self {
            Self::OpenAi => AdapterKind::OpenAI,
            Self::Gemini => AdapterKind::Gemini,
            Self::Anthropic => AdapterKind::Anthropic,
            Self::Ollama => AdapterKind::Ollama,
        }
    }
}

/// What a section says of a model.
pub(crate) struct Setting<'a> {
    pub(crate) section: Section,
    pub(crate) provider: Provider,
    pub(crate) model: &'a str,
    pub(crate) endpoint: &'a str,
    pub(crate) secret: Option<Secret>,
    pub(crate) timeout_ms: u64,
    pub(crate) answer_bytes_max: usize,
    pub(crate) requests_per_minute: u32,
}

/// A model that can be asked.
pub(crate) struct Model {
    provider: Provider,
    name: String,
    /// The endpoint as the client sees it, for which the line speaks TLS.
    endpoint: Url,
    far: Far,
    secret: Option<Secret>,
    timeout: Duration,
    answer_bytes_max: usize,
    turns: Turns,
}

/// What a model said.
pub(crate) struct Said {
    pub(crate) text: String,
    /// Whether it stopped at the tokens that it may give.
    pub(crate) is_cut: bool,
    pub(crate) prompt_tokens: Option<u64>,
    pub(crate) completion_tokens: Option<u64>,
}

/// A call that gave no answer.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) error: PortError,
    /// Whether the provider may have worked all the same.
    pub(crate) may_cost: bool,
}

impl Failed {
    fn free(error: PortError) -> Self {
        let may_cost = false;
        Self { error, may_cost }
    }
}

impl Model {
    /// The model that a section names. Nothing is sent.
    ///
    /// # Errors
    /// [`Error`], naming the key.
    pub(crate) fn new(setting: Setting<'_>) -> Result<Self, Error> {
        let Setting {
            section,
            provider,
            secret,
            ..
        } = setting;
        let name = section.model(provider, setting.model)?;
        let mut endpoint = section.endpoint(provider, setting.endpoint)?;
        let is_open = provider == Provider::Ollama || !setting.endpoint.trim().is_empty();
        if secret.is_none() && !is_open {
            let why = format!("names no key, and {} wants one", provider.name());
            return Err(section.refused("api_key_env", why));
        }
        let far = Far::of(&endpoint).map_err(|why| section.refused("endpoint", why))?;
        let set = endpoint.set_scheme("http");
        set.expect("http is as good a scheme as https to a URL");
        Ok(Self {
            provider,
            name,
            endpoint,
            far,
            secret,
            timeout: Duration::from_millis(setting.timeout_ms),
            answer_bytes_max: setting.answer_bytes_max,
            turns: Turns::new(setting.requests_per_minute),
        })
    }

    /// Provider and model, as `provider/model`.
    pub(crate) fn label(&self) -> String {
        format!("{}/{}", self.provider.name(), self.name)
    }

    pub(crate) const fn provider(&self) -> Provider {
        self.provider
    }

    /// Asks for a text.
    pub(crate) async fn chat(
        &self,
        request: ChatRequest,
        options: &ChatOptions,
    ) -> Result<Said, Failed> {
        let asked = |client: Client, target: ServiceTarget| async move {
            client.exec_chat(target, request, Some(options)).await
        };
        let answer = self.call(asked).await?;
        let tokens = |count: Option<i32>| count.and_then(|count| u64::try_from(count).ok());
        let Usage {
            prompt_tokens,
            completion_tokens,
            ..
        } = answer.usage;
        Ok(Said {
            is_cut: matches!(answer.stop_reason, Some(StopReason::MaxTokens(_))),
            text: answer.content.into_joined_texts().unwrap_or_default(),
            prompt_tokens: tokens(prompt_tokens),
            completion_tokens: tokens(completion_tokens),
        })
    }

    /// Asks for the vectors of some texts.
    pub(crate) async fn embed(&self, texts: Vec<String>) -> Result<EmbedResponse, Failed> {
        let asked = |client: Client, target: ServiceTarget| async move {
            let request = EmbedRequest::new_batch(texts);
            client.exec_embed(target, request, None).await
        };
        self.call(asked).await
    }

    async fn call<T, F>(&self, ask: impl FnOnce(Client, ServiceTarget) -> F) -> Result<T, Failed>
    where
        F: Future<Output = genai::Result<T>>,
    {
        let begun = tokio::time::Instant::now();
        self.turns.take(self.timeout).await.map_err(Failed::free)?;
        let unlaid = |why: String| Failed::free(PortError::Unavailable(why));
        let line = Line::lay(self.far.clone(), self.answer_bytes_max)
            .map_err(|error| unlaid(format!("no socket could be made: {error}")))?;
        let client = client(&line).map_err(|why| unlaid(why.to_owned()))?;
        // The client traces bodies, and who knows what a provider repeats there.
        let unheard = NoSubscriber::default();
        let asked = ask(client, self.target()).with_subscriber(unheard);
        match tokio::time::timeout_at(begun + self.timeout, asked).await {
            Ok(answer) => answer.map_err(|error| self.failed(&error, &line)),
            Err(_elapsed) => Err(self.late(&line)),
        }
    }

    /// What a call means that did not end in time.
    fn late(&self, line: &Line) -> Failed {
        let (who, ms) = (self.label(), self.timeout.as_millis());
        if !line.is_connected() {
            let why = format!("{who} was not reached within {ms} ms");
            return Failed::free(PortError::Unavailable(why));
        }
        // Not that it is out of reach: what it is asked may be too much, and each time may cost.
        Failed {
            error: PortError::Unusable(format!("{who} did not answer within {ms} ms")),
            may_cost: true,
        }
    }

    fn target(&self) -> ServiceTarget {
        // Every form has a place for a key; who wants none does not look at it.
        let key = self.secret.as_ref().map_or("none", Secret::reveal);
        ServiceTarget {
            endpoint: Endpoint::from_owned(self.endpoint.as_str()),
            auth: AuthData::from_single(key),
            model: ModelIden::new(self.provider.adapter(), self.name.as_str()),
        }
    }

    /// What a failed call means. Nothing of the error's own text is repeated: it holds bodies and requests.
    fn failed(&self, error: &genai::Error, line: &Line) -> Failed {
        let who = self.label();
        let later = PortError::Unavailable;
        if line.is_over() {
            let why = format!(
                "{who} answered with more than {} bytes",
                self.answer_bytes_max
            );
            return Failed {
                error: PortError::Unusable(why),
                may_cost: true,
            };
        }
        if let Some(why) = line.unreached() {
            return Failed::free(later(format!("{who} was not reached: {why}")));
        }
        if let Some(status) = error.status() {
            let why = format!("{who} answered with status {}", status.as_u16());
            let error = if is_passing(status) {
                later(why)
            } else {
                PortError::Unusable(why)
            };
            let may_cost = is_cut_short(status);
            return Failed { error, may_cost };
        }
        let error = match error {
            genai::Error::WebModelCall {
                webc_error: webc::Error::Reqwest(_),
                ..
            // To an embedder this is an outage; what it may have cost is for whoever has a budget to judge.
            } => later(format!("the connection to {who} broke off")),
            genai::Error::WebModelCall { .. } => {
                PortError::Unusable(format!("the answer of {who} is not JSON"))
            }
            _ => PortError::Unusable(format!("the answer of {who} has another form than its API")),
        };
        Failed {
            error,
            may_cost: true,
        }
    }
}

/// Whether the same request may be answered later.
fn is_passing(status: StatusCode) -> bool {
    let named = [
        StatusCode::REQUEST_TIMEOUT,
        StatusCode::CONFLICT,
        StatusCode::TOO_EARLY,
        StatusCode::TOO_MANY_REQUESTS,
    ];
    status.is_server_error() || named.contains(&status)
}

/// Whether somebody in between may say so while the provider works: it waited for as long as it does, or lost the
/// connection behind it. As an answer that breaks off, asking again may cost as much each time.
fn is_cut_short(status: StatusCode) -> bool {
    // 520, 522 and 524 are a proxy's own, and have no name: what it was sent is no answer, or none came in time.
    matches!(status.as_u16(), 408 | 502 | 504 | 520 | 522 | 524)
}

fn client(line: &Line) -> Result<Client, &'static str> {
    let client = Client::builder().with_reqwest(line.client()?).build();
    client.map_err(|_| "no client of the provider could be made")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(provider: Provider, endpoint: &str) -> Setting<'_> {
        Setting {
            section: Section("cognifier"),
            provider,
            model: "m",
            endpoint,
            secret: None,
            timeout_ms: 1_000,
            answer_bytes_max: 1_000,
            requests_per_minute: 1,
        }
    }

    #[test]
    fn who_wants_a_key_is_not_asked_without_one() {
        for provider in [Provider::OpenAi, Provider::Gemini, Provider::Anthropic] {
            let refused = Model::new(setting(provider, "")).err().unwrap();
            assert!(
                refused.to_string().contains("cognifier.api_key_env"),
                "{refused}"
            );
            assert!(Model::new(setting(provider, "http://localhost:1")).is_ok());
        }
        assert!(Model::new(setting(Provider::Ollama, "")).is_ok());
    }

    #[test]
    fn the_client_speaks_plainly_and_the_line_does_not() {
        for (endpoint, seen) in [
            ("http://localhost:1/v1", "http://localhost:1/v1/"),
            ("http://[::1]:8080", "http://[::1]:8080/"),
        ] {
            let model = Model::new(setting(Provider::OpenAi, endpoint)).unwrap();
            assert_eq!(model.endpoint.as_str(), seen);
        }
    }

    #[tokio::test]
    async fn who_was_not_reached_in_time_costs_nothing_and_is_asked_again() {
        // The kernel takes connections up, and nobody behind it says a word.
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = silent.local_addr().unwrap().port();
        let endpoint = format!("http://127.0.0.1:{port}/");
        let asked = async |far: Option<Far>| {
            let mut model = Model::new(Setting {
                timeout_ms: 300,
                ..setting(Provider::Ollama, &endpoint)
            })
            .unwrap();
            if let Some(far) = far {
                model.far = far;
            }
            let request = ChatRequest::from_user("a question");
            let answer = model.chat(request, &ChatOptions::default()).await;
            answer.err().unwrap()
        };
        // The handshake never ends.
        let unreached = asked(Some(Far::over_tls(port))).await;
        assert!(!unreached.may_cost);
        assert!(
            matches!(&unreached.error, PortError::Unavailable(why) if why.contains("was not reached")),
            "{unreached:?}"
        );
        let unanswered = asked(None).await;
        assert!(unanswered.may_cost);
        assert!(
            matches!(&unanswered.error, PortError::Unusable(why) if why.contains("did not answer")),
            "{unanswered:?}"
        );
    }

    #[test]
    fn what_may_pass_is_told_from_what_will_not() {
        for status in [408, 409, 425, 429, 500, 502, 503, 504, 529] {
            assert!(
                is_passing(StatusCode::from_u16(status).unwrap()),
                "{status}"
            );
        }
        for status in [301, 400, 401, 403, 404, 413, 422] {
            assert!(
                !is_passing(StatusCode::from_u16(status).unwrap()),
                "{status}"
            );
        }
    }
}
