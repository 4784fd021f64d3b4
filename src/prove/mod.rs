//! Proves what a suite would catch: faults are imitated in the recorded traffic, and the suite must turn red.

mod recording;

pub use self::recording::{LaneRecording, RecordedCase, Recorder, Recording};
