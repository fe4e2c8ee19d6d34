//! Spans on their way to a collector, by OTLP over HTTP.
//!
//! Owns recording them, gathering them, sending them, and counting those that nobody will see. A collector
//! that does not answer costs spans and nothing else: whoever ends one never waits.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use opentelemetry::trace::{
    Span as _, SpanBuilder, SpanContext, SpanId, SpanKind as OtelKind, Status,
    TraceContextExt as _, TraceFlags, TraceId, TraceState, Tracer as _, TracerProvider as _,
};
use opentelemetry::{Context, KeyValue, Value};
use opentelemetry_otlp::{
    SpanExporter as OtlpExporter, WithExportConfig as _, WithHttpConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{
    Sampler, SdkTracer, SdkTracerProvider, Span as SdkSpan, SpanData, SpanExporter as _,
    SpanProcessor,
};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;
use sillok_core::trace::{Span, SpanKind, SpanValue, TraceContext, Tracer};
use sillok_core::{Error, ErrorCode};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;

use crate::config::Config;

/// Spans that wait to be sent. What comes on top of them is lost.
const WAITING_MAX: usize = 8_192;
/// Spans that are sent at once.
const BATCH_MAX: usize = 512;
/// How often it is said at most that spans are lost.
const SAID_EVERY: Duration = Duration::from_secs(60);

/// Counts what became of the spans that have ended. A clone is another handle on the same counters.
#[derive(Clone, Debug, Default)]
pub struct SpanCounters {
    /// The collector accepted them.
    pub sent: Counter,
    /// Nobody will see them.
    pub lost: Counter,
}

impl SpanCounters {
    /// Has them shown by `registry`.
    pub fn register(&self, registry: &mut Registry) {
        let help = "Spans that the collector accepted";
        registry.register("spans_sent", help, self.sent.clone());
        let help = "Spans that nobody will see";
        registry.register("spans_lost", help, self.lost.clone());
    }
}

/// The way to a collector, which is open until it is closed.
pub struct Telemetry {
    tracer: Arc<OtlpTracer>,
    counters: SpanCounters,
    close: Arc<Notify>,
    sending: JoinHandle<()>,
    timeout: Duration,
    /// Ends nothing by itself; spans are begun by its tracer.
    _provider: SdkTracerProvider,
}

impl Telemetry {
    /// Opens the way to the collector that is configured; none where none is. To be called on a runtime.
    ///
    /// # Errors
    /// `invalid_argument` where it cannot be used. That it does not answer is found out later.
    pub fn open(config: &Config) -> Result<Option<Self>, Error> {
        let unusable = |why: String| {
            let why = format!("configuration telemetry.otlp_endpoint cannot be used: {why}");
            Error::new(ErrorCode::InvalidArgument, why)
        };
        let telemetry = &config.telemetry;
        let Some(url) = telemetry.traces_url()? else {
            return Ok(None);
        };
        let timeout = Duration::from_millis(telemetry.export_timeout_ms);
        let client = reqwest::Client::builder().timeout(timeout).no_proxy();
        let client = client
            .build()
            .map_err(|error| unusable(error.to_string()))?;
        let exporter = OtlpExporter::builder()
            .with_http()
            .with_http_client(client)
            .with_endpoint(url)
            .with_timeout(timeout)
            .build();
        let mut exporter = exporter.map_err(|error| unusable(error.to_string()))?;
        let resource = resource(config);
        exporter.set_resource(&resource);
        let (counters, close) = (SpanCounters::default(), Arc::new(Notify::new()));
        let (queue, waiting) = mpsc::channel(WAITING_MAX);
        let sending = tokio::spawn(send(
            waiting,
            Sending {
                exporter,
                counters: counters.clone(),
                every: Duration::from_millis(telemetry.export_every_ms),
                timeout,
                said: None,
            },
            Arc::clone(&close),
        ));
        let new_traces = Sampler::TraceIdRatioBased(telemetry.sampled_share);
        let provider = SdkTracerProvider::builder()
            .with_sampler(Sampler::ParentBased(Box::new(new_traces)))
            .with_resource(resource)
            .with_span_processor(Ended {
                queue,
                counters: counters.clone(),
            })
            .build();
        Ok(Some(Self {
            tracer: Arc::new(OtlpTracer(provider.tracer("sillok"))),
            counters,
            close,
            sending,
            timeout,
            _provider: provider,
        }))
    }

    /// What records spans.
    #[must_use]
    pub fn tracer(&self) -> Arc<dyn Tracer> {
        Arc::clone(&self.tracer) as Arc<dyn Tracer>
    }

    /// What became of them.
    #[must_use]
    pub const fn counters(&self) -> &SpanCounters {
        &self.counters
    }

    /// Sends what waits, for no longer than the collector may take, and closes the way.
    pub async fn close(mut self) {
        self.close.notify_one();
        if tokio::time::timeout(self.timeout, &mut self.sending)
            .await
            .is_err()
        {
            tracing::warn!("the collector did not take the last spans in time");
            self.sending.abort();
        }
    }
}

/// What is said of this process to the collector.
fn resource(config: &Config) -> Resource {
    Resource::builder_empty()
        .with_attributes([
            KeyValue::new("service.name", config.telemetry.service_name.clone()),
            KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
            KeyValue::new("service.instance.id", config.node.name.clone()),
        ])
        .build()
}

/// Takes in spans that have ended.
#[derive(Debug)]
struct Ended {
    queue: mpsc::Sender<SpanData>,
    counters: SpanCounters,
}

impl SpanProcessor for Ended {
    fn on_start(&self, _: &mut SdkSpan, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        if self.queue.try_send(span).is_err() {
            self.counters.lost.inc();
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

/// How spans are sent.
struct Sending {
    exporter: OtlpExporter,
    counters: SpanCounters,
    every: Duration,
    timeout: Duration,
    /// When it was last said that spans are lost.
    said: Option<Instant>,
}

/// Sends what has ended, a while after the first of it, until it is told to close.
async fn send(mut waiting: mpsc::Receiver<SpanData>, mut sending: Sending, close: Arc<Notify>) {
    let mut batch = Vec::new();
    let mut closes = false;
    while !closes {
        tokio::select! {
            biased;
            () = close.notified() => closes = true,
            count = waiting.recv_many(&mut batch, BATCH_MAX) => {
                if count == 0 {
                    return;
                }
                tokio::select! {
                    biased;
                    () = close.notified() => closes = true,
                    () = tokio::time::sleep(sending.every) => {}
                }
            }
        }
        // What ends meanwhile waits for the next round, unless there is none.
        let mut left = waiting.len();
        while !batch.is_empty() || left > 0 {
            while batch.len() < BATCH_MAX
                && let Ok(span) = waiting.try_recv()
            {
                left = left.saturating_sub(1);
                batch.push(span);
            }
            if batch.is_empty() {
                break;
            }
            sending.batch(std::mem::take(&mut batch)).await;
        }
    }
}

impl Sending {
    async fn batch(&mut self, batch: Vec<SpanData>) {
        let count = batch.len() as u64;
        let sent = tokio::time::timeout(self.timeout, self.exporter.export(batch)).await;
        let why = match sent {
            Ok(Ok(())) => {
                self.counters.sent.inc_by(count);
                return;
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => "it did not answer in time".to_owned(),
        };
        let lost = self.counters.lost.inc_by(count) + count;
        if self.said.is_none_or(|said| said.elapsed() >= SAID_EVERY) {
            self.said = Some(Instant::now());
            tracing::warn!(
                lost,
                "spans are lost: the collector does not take them: {why}"
            );
        }
    }
}

/// Records spans for a collector.
struct OtlpTracer(SdkTracer);

impl Tracer for OtlpTracer {
    fn begin(
        &self,
        name: &str,
        kind: SpanKind,
        parent: Option<TraceContext>,
    ) -> Option<Box<dyn Span>> {
        let builder = SpanBuilder::from_name(name.to_owned()).with_kind(match kind {
            SpanKind::Internal => OtelKind::Internal,
            SpanKind::Server => OtelKind::Server,
            SpanKind::Client => OtelKind::Client,
            SpanKind::Producer => OtelKind::Producer,
        });
        let above = match parent {
            Some(parent) => Context::new().with_remote_span_context(remote(&parent)),
            None => Context::new(),
        };
        let span = self.0.build_with_context(builder, &above);
        let context = span.span_context();
        let context = TraceContext::new(
            context.trace_id().to_bytes(),
            context.span_id().to_bytes(),
            context.is_sampled(),
        )?;
        span.is_recording()
            .then(|| Box::new(OtlpSpan { span, context }) as Box<dyn Span>)
    }
}

fn remote(context: &TraceContext) -> SpanContext {
    let flags = if context.is_sampled() {
        TraceFlags::SAMPLED
    } else {
        TraceFlags::NOT_SAMPLED
    };
    SpanContext::new(
        TraceId::from_bytes(context.trace()),
        SpanId::from_bytes(context.span()),
        flags,
        true,
        TraceState::NONE,
    )
}

struct OtlpSpan {
    span: SdkSpan,
    context: TraceContext,
}

impl Span for OtlpSpan {
    fn context(&self) -> TraceContext {
        self.context
    }

    fn note(&mut self, key: &'static str, value: SpanValue) {
        let value = match value {
            SpanValue::Number(number) => Value::I64(i64::try_from(number).unwrap_or(i64::MAX)),
            SpanValue::Name(name) => Value::String(name.into()),
        };
        self.span.set_attribute(KeyValue::new(key, value));
    }

    fn fail(&mut self, code: &'static str) {
        self.span
            .set_attribute(KeyValue::new("sillok.refusal", code));
        self.span.set_status(Status::error(code));
    }
}

impl Drop for OtlpSpan {
    fn drop(&mut self) {
        self.span.end_with_timestamp(SystemTime::now());
    }
}

#[cfg(test)]
mod tests;
