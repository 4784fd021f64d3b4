//! Bodies of requests that do not leave at once: in pieces, or broken off in the middle.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use reqwest::Body;
use tokio::sync::mpsc;

use crate::transport::{MessageForm, Transfer, pieces};

/// The body that leaves so; what is torn ends with the connection.
pub(crate) fn body(bytes: &[u8], form: MessageForm) -> Body {
    let (sender, receiver) = mpsc::channel(1);
    let parts: Vec<Vec<u8>> = match form {
        MessageForm::Pieces => pieces::thirds(bytes).map(<[u8]>::to_vec).collect(),
        MessageForm::Whole | MessageForm::Torn | MessageForm::GivenUp | MessageForm::Slow(_) => vec![bytes.to_vec()],
    };
    tokio::spawn(async move {
        if let MessageForm::Slow(time) = form {
            let mut transfer = Transfer::new(parts.concat(), time);
            while let Some(part) = transfer.next().await {
                if sender.send(Ok(part)).await.is_err() {
                    return;
                }
            }
            return;
        }
        for (number, part) in parts.into_iter().enumerate() {
            pieces::pause(number).await;
            if sender.send(Ok(part)).await.is_err() {
                return;
            }
        }
        if form == MessageForm::Torn {
            pieces::pause(1).await;
            // Nobody listens where the request has failed already.
            let _ = sender.send(Err(io::Error::other("the client is gone"))).await;
        }
    });
    Body::wrap_stream(CutBody(receiver))
}

/// The declared length; greater than the body of a torn message.
pub(crate) fn length(bytes: &[u8], form: MessageForm) -> usize {
    bytes.len() + if form == MessageForm::Torn { bytes.len().max(1) } else { 0 }
}

struct CutBody(mpsc::Receiver<io::Result<Vec<u8>>>);

impl Stream for CutBody {
    type Item = io::Result<Vec<u8>>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context)
    }
}
