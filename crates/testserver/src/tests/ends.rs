use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWriteExt, ReadBuf, duplex, empty, sink};

use crate::{ConversationError, ServeError, serve};

/// An input that fails at once.
struct Broken;

impl AsyncRead for Broken {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()))
    }
}

#[tokio::test(start_paused = true)]
async fn an_empty_input_is_a_conversation_too() {
    serve(empty(), sink()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_broken_input_is_an_error() {
    let ended = serve(Broken, sink()).await;
    let Err(ServeError::Conversation(ConversationError::Read(error))) = ended else { panic!("{ended:?}") };
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_is_gone_ends_the_conversation() {
    let (mut input, reader) = duplex(1024);
    let (output, writer) = duplex(1024);
    drop(output);
    input.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").await.unwrap();
    serve(reader, writer).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_nothing_does_not_hold_up_the_end() {
    let (mut input, reader) = duplex(1024);
    let (_output, writer) = duplex(8);
    input.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").await.unwrap();
    drop(input);
    serve(reader, writer).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_last_line_without_an_end_is_no_message() {
    let (mut input, reader) = duplex(1024);
    let (mut output, writer) = duplex(1024);
    input.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}").await.unwrap();
    drop(input);
    serve(reader, writer).await.unwrap();
    let mut said = Vec::new();
    tokio::io::AsyncReadExt::read_to_end(&mut output, &mut said).await.unwrap();
    assert!(said.is_empty());
}
