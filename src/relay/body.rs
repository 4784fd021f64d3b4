//! A body as far as faults and figures look into it: what is too large for them passes in pieces, and is not kept.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::Error;
use axum::body::{Body, BodyDataStream, Bytes};
use futures_core::Stream;

/// A body that was read, or is too large for that.
pub(crate) enum ReadBody {
    Whole(Bytes),
    /// The pieces that were read, and those to come.
    Long(Body),
}

impl ReadBody {
    /// Reads a body, unless it has more bytes than this.
    ///
    /// # Errors
    ///
    /// Fails where the body breaks off before that.
    pub(crate) async fn of(body: Body, most: usize) -> Result<Self, Error> {
        let mut read = BegunBody { begun: VecDeque::new(), rest: body.into_data_stream() };
        let mut length = 0;
        while length <= most {
            match poll_fn(|context| Pin::new(&mut read.rest).poll_next(context)).await {
                Some(piece) => {
                    let piece = piece?;
                    length += piece.len();
                    read.begun.push_back(piece);
                }
                None => return Ok(Self::Whole(Vec::from(read.begun).concat().into())),
            }
        }
        Ok(Self::Long(Body::from_stream(read)))
    }
}

/// A body of which some pieces were read ahead.
struct BegunBody {
    begun: VecDeque<Bytes>,
    rest: BodyDataStream,
}

impl Stream for BegunBody {
    type Item = Result<Bytes, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.begun.pop_front() {
            Some(piece) => Poll::Ready(Some(Ok(piece))),
            None => Pin::new(&mut self.rest).poll_next(context),
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;

    use super::*;

    #[tokio::test]
    async fn a_long_body_passes_whole_and_unread() {
        for (text, is_read) in [("", true), ("abc", true), ("abcd", true), ("abcde", false)] {
            let body = match ReadBody::of(Body::from(text), 4).await.unwrap() {
                ReadBody::Whole(bytes) if is_read => Body::from(bytes),
                ReadBody::Long(body) if !is_read => body,
                ReadBody::Whole(_) | ReadBody::Long(_) => panic!("{text} is read: {}", !is_read),
            };
            assert_eq!(to_bytes(body, 100).await.unwrap(), text);
        }
    }
}
