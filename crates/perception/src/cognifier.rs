//! A cognifier that asks a model.
//!
//! It renders the versioned prompt, asks within a budget and a rate, reads the answer strictly, and leads each
//! quote back to bytes of its record. What a model says is a proposal and nothing else: it names records by the
//! numbers it was given, and no entry, scope, status or command has a name here.

use std::sync::Arc;

use genai::chat::{ChatOptions, ChatRequest, ChatResponseFormat, JsonSpec};
use sillok_core::ports::{BoxFuture, Clock, Cognifier, PortError};
use sillok_core::promotion::{CognifyInput, Cognition, Used};
use sillok_core::scope::Scope;

use crate::Error;
use crate::answer;
use crate::budget::Budgets;
use crate::config::{CognifierConfig, Section};
use crate::model::{Failed, Model, Provider, Setting};
use crate::prompt::{self, Given};
use crate::secret::Secret;

/// Characters of ASCII that make a token, at least, of what agents write. Of other scripts one does, about: Korean
/// has one to a syllable. A call reserves by this; it is charged for what it used.
const ASCII_PER_TOKEN: usize = 2;

/// The cognifier.
pub struct ModelCognifier {
    name: String,
    model: Model,
    options: ChatOptions,
    input_chars_max: usize,
    answer_tokens_max: u32,
    prices: Prices,
    budgets: Budgets,
    clock: Arc<dyn Clock>,
}

impl ModelCognifier {
    /// The cognifier that a section names; none where it names the rules of this program. Nothing is sent.
    ///
    /// # Errors
    /// [`Error`], naming the key that cannot be used.
    pub fn new(config: &CognifierConfig, clock: Arc<dyn Clock>) -> Result<Option<Self>, Error> {
        config.check()?;
        let Some(provider) = config.provider.model() else {
            return Ok(None);
        };
        let environment = |name: &str| std::env::var(name).ok();
        let (variable, file) = (&config.api_key_env, &config.api_key_file);
        let model = Model::new(Setting {
            section: Section("cognifier"),
            provider,
            model: &config.model,
            endpoint: &config.endpoint,
            secret: Secret::read("cognifier", variable, file, environment)?,
            timeout_ms: config.timeout_ms,
            answer_bytes_max: config.answer_bytes_max,
            requests_per_minute: config.requests_per_minute,
        })?;
        Ok(Some(Self {
            name: format!("{}@prompt-{}", model.label(), prompt::VERSION),
            options: options(model.provider(), config.answer_tokens_max),
            model,
            input_chars_max: config.input_chars_max,
            answer_tokens_max: config.answer_tokens_max,
            prices: Prices {
                input: config.input_micro_dollars_per_million,
                output: config.output_micro_dollars_per_million,
            },
            budgets: Budgets::new(config.project_tokens_per_day),
            clock,
        }))
    }

    async fn draw(&self, input: &CognifyInput) -> Result<Cognition, PortError> {
        let project = project_of(&input.task);
        let Given { text, left_out } = prompt::given(input, self.input_chars_max);
        let instructions = prompt::instructions();
        let may_be_given = tokens_of(&instructions).saturating_add(tokens_of(&text));
        let may_use = may_be_given.saturating_add(u64::from(self.answer_tokens_max));
        let reserved = self.budgets.reserve(&project, may_use, self.clock.now())?;
        let request = ChatRequest::from_system(instructions)
            .append_message(genai::chat::ChatMessage::user(text));
        let said = match self.model.chat(request, &self.options).await {
            Ok(said) => said,
            Err(failed) => {
                let tokens = if failed.may_cost { may_use } else { 0 };
                self.budgets.settle(reserved, tokens);
                return Err(self.in_vain(failed, may_be_given));
            }
        };
        let used = self.prices.of(said.prompt_tokens, said.completion_tokens);
        // A provider that counts nothing is charged for what the call might have used.
        let tokens = match (used.prompt_tokens, used.completion_tokens) {
            (None, None) => may_use,
            (prompt, completion) => prompt
                .unwrap_or_default()
                .saturating_add(completion.unwrap_or_default()),
        };
        self.budgets.settle(reserved, tokens);
        let read = if said.is_cut {
            let max = self.answer_tokens_max;
            Err(format!("the answer was cut at {max} tokens"))
        } else {
            answer::read(&said.text, input, left_out, used)
        };
        self.log(&project, used, &read);
        read.map_err(|why| PortError::Wasted { why, used })
    }

    /// Why a call gave no answer. Where the provider may have worked for it, whether it was late or broke off, asking
    /// again may cost as much each time: so that is an answer that cannot be used, at the price that it may have had,
    /// as the budget is charged. Else it is as the line says.
    fn in_vain(&self, failed: Failed, may_be_given: u64) -> PortError {
        match failed.error {
            PortError::Unavailable(why) | PortError::Unusable(why) if failed.may_cost => {
                let answer = u64::from(self.answer_tokens_max);
                let used = self.prices.of(Some(may_be_given), Some(answer));
                PortError::Wasted { why, used }
            }
            error => error,
        }
    }

    fn log(&self, project: &str, used: Used, read: &Result<Cognition, String>) {
        let (facts, left_out) = read.as_ref().map_or((0, 0), |cognition| {
            (cognition.facts.len(), cognition.left_out)
        });
        tracing::info!(
            cognifier = self.name,
            project,
            prompt_tokens = used.prompt_tokens,
            completion_tokens = used.completion_tokens,
            micro_dollars = used.micro_dollars,
            facts,
            facts_left_out = left_out,
            usable = read.is_ok(),
            "a model was asked to draw knowledge"
        );
    }
}

impl Cognifier for ModelCognifier {
    fn name(&self) -> &str {
        &self.name
    }

    fn cognify<'a>(
        &'a self,
        input: &'a CognifyInput,
    ) -> BoxFuture<'a, Result<Cognition, PortError>> {
        Box::pin(self.draw(input))
    }
}

/// How an answer is asked for. Ollama's own API takes no schema through `genai` 0.7, only that it is to be
/// JSON: the schema stands in the instructions, as for all of them.
fn options(provider: Provider, answer_tokens_max: u32) -> ChatOptions {
    let format = match provider {
        Provider::Ollama => ChatResponseFormat::JsonMode,
        Provider::OpenAi | Provider::Gemini | Provider::Anthropic => {
            let schema: serde_json::Value =
                serde_json::from_str(prompt::SCHEMA).expect("the schema of this crate is JSON");
            ChatResponseFormat::JsonSpec(JsonSpec::new("cognition", schema))
        }
    };
    ChatOptions::default()
        .with_response_format(format)
        .with_max_tokens(answer_tokens_max)
}

/// How many tokens a text may be.
fn tokens_of(text: &str) -> u64 {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let others = text.chars().count() - ascii;
    (ascii.div_ceil(ASCII_PER_TOKEN) + others) as u64
}

fn project_of(task: &Scope) -> String {
    format!("{}/{}", task.org(), task.project().unwrap_or_default())
}

/// Millionths of a dollar for a million tokens.
#[derive(Clone, Copy, Debug)]
struct Prices {
    input: u64,
    output: u64,
}

impl Prices {
    /// What was used, with its price where one is configured and the tokens are known. Parts of a millionth
    /// of a dollar count as one.
    fn of(self, prompt_tokens: Option<u64>, completion_tokens: Option<u64>) -> Used {
        let is_priced = self.input > 0 || self.output > 0;
        let cost = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
        let micro_dollars = match (prompt_tokens, completion_tokens) {
            (Some(prompt), Some(completion)) if is_priced => {
                let all = cost(prompt, self.input) + cost(completion, self.output);
                Some(u64::try_from(all.div_ceil(1_000_000)).unwrap_or(u64::MAX))
            }
            _ => None,
        };
        Used {
            prompt_tokens,
            completion_tokens,
            micro_dollars,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_another_script_may_be_as_many_tokens_as_it_has_characters() {
        for (text, tokens) in [
            ("", 0),
            ("four", 2),
            ("fives", 3),
            ("원인은 반올림", 7),
            ("cause: 원인", 6),
        ] {
            assert_eq!(tokens_of(text), tokens, "{text}");
        }
    }

    #[test]
    fn costs_follow_from_tokens_and_prices_and_are_not_guessed() {
        let prices = Prices {
            input: 75_000,
            output: 300_000,
        };
        let used = prices.of(Some(1_000_000), Some(10));
        assert_eq!(used.micro_dollars, Some(75_003));
        assert_eq!(prices.of(Some(1), Some(0)).micro_dollars, Some(1));
        assert_eq!(prices.of(Some(1), None).micro_dollars, None);
        let most = prices.of(Some(u64::MAX), Some(u64::MAX));
        assert!(most.micro_dollars.unwrap() > u64::MAX / 4);
        let free = Prices {
            input: 0,
            output: 0,
        };
        assert_eq!(free.of(Some(5), Some(5)).micro_dollars, None);
    }
}
