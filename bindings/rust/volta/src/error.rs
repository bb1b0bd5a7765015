use crate::{owned, sys};
use std::fmt;

/// What kind of failure it was; what the caller can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    InvalidArgument,
    InvalidState,
    ShapeMismatch,
    OutOfMemory,
    IoError,
    CorruptModel,
    Unsupported,
    DeviceError,
    Internal,
    NotFinite,
    Cancelled,
    /// Of a library that is newer than this crate.
    Other(i32),
}

impl Status {
    fn of(status: sys::volta_status) -> Self {
        match status {
            sys::VOLTA_INVALID_ARGUMENT => Status::InvalidArgument,
            sys::VOLTA_INVALID_STATE => Status::InvalidState,
            sys::VOLTA_SHAPE_MISMATCH => Status::ShapeMismatch,
            sys::VOLTA_OUT_OF_MEMORY => Status::OutOfMemory,
            sys::VOLTA_IO_ERROR => Status::IoError,
            sys::VOLTA_CORRUPT_MODEL => Status::CorruptModel,
            sys::VOLTA_UNSUPPORTED => Status::Unsupported,
            sys::VOLTA_DEVICE_ERROR => Status::DeviceError,
            sys::VOLTA_INTERNAL => Status::Internal,
            sys::VOLTA_NOT_FINITE => Status::NotFinite,
            sys::VOLTA_CANCELLED => Status::Cancelled,
            other => Status::Other(other),
        }
    }
}

/// A failure: its status and the library's one sentence, which says what was wrong and with which value.
#[derive(Clone, Debug)]
pub struct Error {
    status: Status,
    text: String,
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub fn status(&self) -> Status {
        self.status
    }
    pub(crate) fn of_argument(text: String) -> Self {
        Self { status: Status::InvalidArgument, text }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

impl std::error::Error for Error {}

pub(crate) fn check(status: sys::volta_status) -> Result<()> {
    check_with(status, || unsafe { sys::volta_last_error() })
}

pub(crate) fn check_with(status: sys::volta_status, sentence: impl FnOnce() -> *const sys::c_char) -> Result<()> {
    if status == sys::VOLTA_OK {
        return Ok(());
    }
    Err(Error { status: Status::of(status), text: unsafe { owned(sentence()) } })
}
