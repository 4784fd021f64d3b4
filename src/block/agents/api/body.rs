//! Bodies of answers of providers, read up to a limit: whoever answers may be hostile.

use reqwest::Response;

use crate::wire::exceeded_limit;

/// The number of bytes of an answer that are read: a hundred times what the largest models write.
const MOST: usize = 16 << 20;

/// The number of bytes of a refusal that are read.
const MOST_OF_REFUSAL: usize = 1 << 20;

/// Why a body is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnreadBody {
    /// It ends before it is complete.
    Cut,
    /// It is larger than any answer of a model.
    TooLarge,
}

/// The message about a body that is too large.
pub(crate) const TOO_LARGE: &str = "it has more than 16 MiB, or would take more than 96 MiB of memory";

/// Reads a whole body.
pub(crate) async fn read(mut response: Response) -> Result<Vec<u8>, UnreadBody> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|_| UnreadBody::Cut)? {
        if body.len() + piece.len() > MOST {
            return Err(UnreadBody::TooLarge);
        }
        body.extend_from_slice(&piece);
    }
    if exceeded_limit(&body).is_some() { Err(UnreadBody::TooLarge) } else { Ok(body) }
}

/// Reads the beginning of a body, as far as it comes.
pub(crate) async fn beginning(mut response: Response) -> Vec<u8> {
    let mut body = Vec::new();
    while body.len() < MOST_OF_REFUSAL
        && let Ok(Some(piece)) = response.chunk().await
    {
        body.extend_from_slice(&piece[..piece.len().min(MOST_OF_REFUSAL - body.len())]);
    }
    body
}
