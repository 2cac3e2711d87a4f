//! Not written yet.

pub(crate) mod thinking;

use lariat_core::model::{ModelConfig, ProviderError, StreamConfig};

use crate::protocol::{ApiProtocol, Protocol};
use crate::wire::{Decoder, Failure, Frame, Framing, Interpret, ListedModel, Outgoing, Reply};

/// The protocol.
#[derive(Clone, Copy, Debug, Default)]
pub struct Responses;

struct Nothing;

impl Interpret for Nothing {
    fn frame(&mut self, _frame: Frame<'_>, _reply: &mut Reply) -> Result<(), ProviderError> {
        Ok(())
    }
}

impl Protocol for Responses {
    fn api(&self) -> ApiProtocol {
        ApiProtocol::OpenAiResponses
    }

    fn request(&self, _request: &StreamConfig) -> Result<Outgoing, ProviderError> {
        Err(ProviderError::Other("not written yet".into()))
    }

    fn decoder(&self, _request: &StreamConfig) -> Decoder {
        Decoder::new(Framing::sse(), Nothing)
    }

    fn classify(&self, failure: &Failure<'_>) -> ProviderError {
        failure.general()
    }

    fn list_request(&self, _model: &ModelConfig) -> Option<Outgoing> {
        None
    }

    fn listed(&self, _body: &[u8]) -> Result<Vec<ListedModel>, ProviderError> {
        Ok(Vec::new())
    }
}
