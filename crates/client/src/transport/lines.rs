//! Lines in and out of byte streams.

use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;

use super::disruption::{GatedReader, ReadGate, StreamControl};
use super::large::LargeTurn;
use super::{Incoming, MessageForm, Outgoing, Transfer, pieces};
use crate::wire::{LARGE_MESSAGE, reserve_for_large};

/// The longest line that is read, in bytes; the specification sets no limit, memory does.
const MAX_LINE_BYTES: usize = 64 << 20;

/// The number of lines that wait to be handled before reading pauses.
pub(crate) const QUEUED_LINES: usize = 512;

/// A line of more bytes is looked at before another one is read, so that what waits fills no memory.
const LONG_LINE: usize = 128 << 10;

/// The longest line of standard error that is kept whole, in bytes.
const MAX_STDERR_LINE_BYTES: u64 = 64 << 10;

/// Writes lines until the channel closes or says that nothing follows, as many at a time as are waiting; then closes
/// the stream.
pub(crate) async fn write<W: AsyncWrite + Unpin>(
    mut writer: W,
    mut messages: mpsc::UnboundedReceiver<Outgoing>,
    control: StreamControl,
) {
    let mut waiting = Vec::new();
    let mut batch = Vec::new();
    let mut is_over = false;
    while !is_over && messages.recv_many(&mut waiting, 64).await > 0 {
        for outgoing in waiting.drain(..) {
            match outgoing {
                Outgoing::Message(message) => match message.form {
                    MessageForm::Whole | MessageForm::GivenUp => {
                        batch.extend_from_slice(&message.bytes);
                        batch.push(b'\n');
                    }
                    MessageForm::Pieces => {
                        let line = [message.bytes.as_slice(), b"\n"].concat();
                        put_pieces(&mut writer, &mut batch, pieces::thirds(&line)).await;
                    }
                    MessageForm::Slow(time) => {
                        let line = [message.bytes.as_slice(), b"\n"].concat();
                        let mut transfer = Transfer::new(line, time);
                        while let Some(part) = transfer.next().await {
                            batch.extend(part);
                            if !write_batch(&mut writer, &mut batch).await {
                                break;
                            }
                        }
                    }
                    MessageForm::Torn => {
                        batch.extend_from_slice(&message.bytes);
                        is_over = true;
                        break;
                    }
                },
                Outgoing::Raw { pieces, .. } => {
                    put_pieces(&mut writer, &mut batch, pieces.iter().map(Vec::as_slice)).await;
                }
                Outgoing::Disruption(disruption) => {
                    write_batch(&mut writer, &mut batch).await;
                    control.disrupt(disruption).await;
                }
                // A request that was given up is cancelled by a message.
                Outgoing::Abandon { .. } => {}
                Outgoing::End => is_over = true,
            }
        }
        if !write_batch(&mut writer, &mut batch).await {
            break;
        }
    }
    let _ = writer.shutdown().await;
}

/// Writes what is waiting, and then pieces, each on its own.
async fn put_pieces<'a, W: AsyncWrite + Unpin>(
    writer: &mut W,
    batch: &mut Vec<u8>,
    pieces: impl Iterator<Item = &'a [u8]>,
) {
    for (number, piece) in pieces.enumerate() {
        pieces::pause(number).await;
        batch.extend_from_slice(piece);
        if !write_batch(writer, batch).await {
            break;
        }
    }
}

/// Writes what is waiting; `false` where nobody reads any more, which shows in what the server sends, or does not.
async fn write_batch<W: AsyncWrite + Unpin>(writer: &mut W, batch: &mut Vec<u8>) -> bool {
    let is_put = writer.write_all(batch).await.is_ok() && writer.flush().await.is_ok();
    batch.clear();
    is_put
}

/// Reads lines of the protocol stream until it ends.
pub(crate) async fn read_lines<R: AsyncRead + Unpin>(reader: R, incoming: mpsc::Sender<Incoming>, gate: Arc<ReadGate>) {
    let mut reader = BufReader::with_capacity(64 << 10, GatedReader::new(reader, gate));
    loop {
        let (mut line, mut turn) = (Vec::new(), LargeTurn::default());
        let mut read = (&mut reader).take(LARGE_MESSAGE as u64).read_until(b'\n', &mut line).await;
        if line.len() == LARGE_MESSAGE && !line.ends_with(b"\n") {
            turn.take(LARGE_MESSAGE).await;
            let rest = MAX_LINE_BYTES - LARGE_MESSAGE;
            reserve_for_large(&mut line, MAX_LINE_BYTES);
            read = (&mut reader).take(rest as u64).read_until(b'\n', &mut line).await.map(|more| LARGE_MESSAGE + more);
        }
        let whole = line.last() == Some(&b'\n');
        if whole {
            line.pop();
            if line.last() == Some(&b'\r') {
                line.pop();
            }
        }
        let (message, last) = match read {
            Ok(0) | Err(_) => (Incoming::Closed, true),
            Ok(_) if whole => (Incoming::Line(line), false),
            Ok(length) if length == MAX_LINE_BYTES => (Incoming::EndlessLine, true),
            Ok(_) => (Incoming::TornLine(line), false),
        };
        let length = if let Incoming::Line(line) = &message { line.len() } else { 0 };
        if incoming.send(message).await.is_err() || last {
            return;
        }
        wait_until_read(&incoming, length).await;
        drop(turn);
    }
}

/// Waits until a message of so many bytes was looked at, where it is long.
pub(crate) async fn wait_until_read(incoming: &mpsc::Sender<Incoming>, length: usize) {
    if length > LONG_LINE {
        // Fails where nobody listens any more.
        let _ = incoming.reserve_many(incoming.max_capacity()).await;
    }
}

/// Reads lines of standard error until it ends; overlong ones are cut.
pub(crate) async fn read_stderr<R: AsyncRead + Unpin>(reader: R, incoming: mpsc::Sender<Incoming>) {
    let mut reader = BufReader::new(reader);
    loop {
        let mut line = Vec::new();
        match (&mut reader).take(MAX_STDERR_LINE_BYTES).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        while matches!(line.last(), Some(b'\n' | b'\r')) {
            line.pop();
        }
        if incoming.send(Incoming::Stderr(line)).await.is_err() {
            return;
        }
    }
}
