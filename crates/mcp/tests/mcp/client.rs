//! A client of the protocol over a stream in memory.

use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientConfig, JsonObject, ProtocolVersion,
};
use rmcp::service::RunningService;
use rmcp::{ClientLifecycleMode, ClientServiceExt as _, RoleClient};
use serde_json::Value;
use sillok_mcp::api::Api;
use sillok_mcp::limits::CALLS_MAX;
use sillok_mcp::routed::Routed;
use sillok_mcp::{Handler, ToolSet};

use super::small_api::{SmallApi, Token};

/// Bytes that the stream holds: few, so that messages come in pieces.
const STREAM_BYTES: usize = 1_000;

/// The name under which a result carries a refusal for programs.
const PROBLEM: &str = "sillok.dev/problem";

pub(crate) struct Client {
    service: RunningService<RoleClient, ClientConfig>,
}

/// Every way in which clients begin.
pub(crate) fn revisions() -> Vec<(&'static str, ClientLifecycleMode, ProtocolVersion)> {
    let discover = ClientLifecycleMode::Discover {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
    };
    let mut all = vec![("2026-07-28", discover, ProtocolVersion::V_2026_07_28)];
    for version in [
        ProtocolVersion::V_2025_11_25,
        ProtocolVersion::V_2025_06_18,
        ProtocolVersion::V_2025_03_26,
        ProtocolVersion::V_2024_11_05,
    ] {
        all.push(("with initialize", ClientLifecycleMode::Initialize, version));
    }
    all
}

impl Client {
    /// A client of the current revision, whose token is this one.
    pub(crate) async fn of(api: &SmallApi, token: Token) -> Self {
        Self::with(api, token, ToolSet::All, None).await
    }

    pub(crate) async fn with(
        api: &SmallApi,
        token: Token,
        set: ToolSet,
        scope: Option<&str>,
    ) -> Self {
        let (_, lifecycle, version) = revisions().remove(0);
        Self::begin(api, token, set, scope, lifecycle, version).await
    }

    pub(crate) async fn begin(
        api: &SmallApi,
        token: Token,
        set: ToolSet,
        scope: Option<&str>,
        lifecycle: ClientLifecycleMode,
        version: ProtocolVersion,
    ) -> Self {
        let routed = Routed::new(api.router(Some(token)));
        let handler = Handler::new(routed, set, scope.map(str::to_owned), CALLS_MAX);
        Self::serve(handler, lifecycle, version).await
    }

    /// A client of the current revision, over any API.
    pub(crate) async fn over(api: impl Api, set: ToolSet, calls_max: usize) -> Self {
        let (_, lifecycle, version) = revisions().remove(0);
        Self::serve(Handler::new(api, set, None, calls_max), lifecycle, version).await
    }

    async fn serve<A: Api>(
        handler: Handler<A>,
        lifecycle: ClientLifecycleMode,
        version: ProtocolVersion,
    ) -> Self {
        let (here, there) = tokio::io::duplex(STREAM_BYTES);
        let (read, write) = tokio::io::split(there);
        tokio::spawn(sillok_mcp::stdio::serve(handler, read, write));
        let config = ClientConfig::default().with_protocol_version(version);
        let service = config.serve_with_lifecycle(here, lifecycle).await;
        Self {
            service: service.expect("the server speaks every revision"),
        }
    }

    pub(crate) fn service(&self) -> &RunningService<RoleClient, ClientConfig> {
        &self.service
    }

    /// The result of a tool.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> CallToolResult {
        let Value::Object(arguments) = arguments else {
            panic!("arguments are an object")
        };
        let called = self.try_call(tool, arguments).await;
        called.unwrap_or_else(|error| panic!("{tool} was not answered: {error}"))
    }

    pub(crate) async fn try_call(
        &self,
        tool: &str,
        arguments: JsonObject,
    ) -> Result<CallToolResult, rmcp::ServiceError> {
        let asked = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        self.service.call_tool(asked).await
    }

    /// What a tool answers that must be carried out.
    #[track_caller]
    pub(crate) fn ok(result: CallToolResult) -> Value {
        assert_eq!(result.is_error, Some(false), "{:?}", result.content);
        let output = result.structured_content.expect("a result has a structure");
        // Clients that know no structures read the same as text.
        let text = &result.content[0].as_text().expect("it has a text").text;
        let read: Value = serde_json::from_str(text).expect("the text is the structure");
        assert_eq!(read, output);
        output
    }

    /// The code and the text of a tool's refusal.
    #[track_caller]
    pub(crate) fn refused(result: CallToolResult) -> (String, String) {
        assert_eq!(
            result.is_error,
            Some(true),
            "{:?}",
            result.structured_content
        );
        let text = result.content[0]
            .as_text()
            .expect("it has a text")
            .text
            .clone();
        let problem = &result.meta.expect("a refusal is there for programs").0[PROBLEM];
        let code = problem["code"].as_str().expect("it has a code").to_owned();
        assert!(text.starts_with(&format!("{code}: ")), "{text}");
        assert!(text.contains("What to do: "), "{text}");
        (code, text)
    }
}
