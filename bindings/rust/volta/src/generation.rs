use crate::error::check;
use crate::{handle, lent, owned, sys, Bill, text, Error, GeneratorOptions, Model, Result, SamplingOptions, Status, Tokenizer, WriteResult};
use std::any::Any;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::ptr;
use std::sync::Arc;

handle!(
    /// Tokens and text from a language model.
    Generator,
    volta_generator,
    volta_generator_release
);

/// One text of a generator among others. It borrows nothing: it keeps the generator alive.
pub struct Sequence {
    raw: *mut sys::volta_sequence,
    one_thread: PhantomData<*mut ()>,
}

/// What a callback says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    Go,
    Stop,
}

/// Asks a writing to end, from any thread or a signal handler.
#[derive(Clone)]
pub struct Cancel(Arc<Request>);

struct Request(std::cell::UnsafeCell<sys::volta_cancel>);
// The library stores and reads it as a lock-free atomic integer.
unsafe impl Send for Request {}
unsafe impl Sync for Request {}

impl Default for Cancel {
    fn default() -> Self {
        Self(Arc::new(Request(std::cell::UnsafeCell::new(sys::volta_cancel { requested: 0 }))))
    }
}
impl Cancel {
    pub fn new() -> Self {
        Self::default()
    }
    pub(crate) fn as_ptr(&self) -> *const sys::volta_cancel {
        self.0 .0.get()
    }
    pub fn request(&self) {
        unsafe { sys::volta_cancel_request(self.0 .0.get()) }
    }
}

/// What may end a writing.
#[derive(Clone, Default)]
pub struct WriteOptions {
    /// 0: as many as the context holds.
    pub max_tokens: i64,
    pub stop_texts: Vec<String>,
    pub stop_tokens: Vec<i32>,
    /// From the beginning of the call; 0: no end.
    pub max_seconds: f64,
    pub cancel: Option<Cancel>,
    /// The tokenizer's bos and eos are tokens like any other.
    pub past_end: bool,
}

struct Receiver<'a> {
    on_text: &'a mut dyn FnMut(&[u8], i32) -> Flow,
    panic: Option<Box<dyn Any + Send>>,
}

unsafe extern "C" fn receive(user: *mut c_void, text: *const sys::c_char, bytes: usize, token: i32) -> i32 {
    let receiver = &mut *(user as *mut Receiver<'_>);
    let piece = lent(text as *const u8, bytes);
    match catch_unwind(AssertUnwindSafe(|| (receiver.on_text)(piece, token))) {
        Ok(flow) => (flow == Flow::Stop) as i32,
        Err(panic) => {
            receiver.panic = Some(panic); // no unwinding passes through C: it goes on behind the call
            1
        }
    }
}

impl Generator {
    pub fn new(model: &Model, options: &GeneratorOptions) -> Result<Self> {
        let mut raw = ptr::null_mut();
        check(unsafe { sys::volta_generator_create(model.raw, options, &mut raw) })?;
        Ok(Self { raw })
    }
    /// Begins a sequence with these tokens.
    pub fn start(&mut self, tokens: &[i32]) -> Result<()> {
        check(unsafe { sys::volta_generator_start(self.raw, tokens.as_ptr(), tokens.len()) })
    }
    /// Draws the next token.
    pub fn next_token(&mut self) -> Result<i32> {
        let mut token = -1;
        check(unsafe { sys::volta_generator_next(self.raw, &mut token) })?;
        Ok(token)
    }
    /// Tokens one after the other, until the context is full.
    pub fn tokens(&mut self) -> Tokens<'_> {
        Tokens { generator: self }
    }
    /// The logits of which the latest token was drawn.
    pub fn logits(&mut self) -> Result<&[f32]> {
        let (mut data, mut count) = (ptr::null(), 0);
        check(unsafe { sys::volta_generator_logits(self.raw, &mut data, &mut count) })?;
        Ok(unsafe { lent(data, count) })
    }
    /// Writes until something ends it: `on_text` gets each piece, whole characters, with its token.
    pub fn write(
        &mut self,
        options: &WriteOptions,
        on_text: impl FnMut(&[u8], i32) -> Flow,
    ) -> Result<WriteResult> {
        self.write_to(options, None, None, on_text)
    }
    /// The same of a sequence, or by another tokenizer than the model's.
    pub fn write_to(
        &mut self,
        options: &WriteOptions,
        sequence: Option<&mut Sequence>,
        tokenizer: Option<&Tokenizer>,
        mut on_text: impl FnMut(&[u8], i32) -> Flow,
    ) -> Result<WriteResult> {
        let stops = options.stop_texts.iter().map(|stop| text(stop)).collect::<Result<Vec<_>>>()?;
        let stops: Vec<_> = stops.iter().map(|stop| stop.as_ptr()).collect();
        let mut receiver = Receiver { on_text: &mut on_text, panic: None };
        let raw = sys::volta_write_options {
            max_tokens: options.max_tokens,
            stop_tokens: options.stop_tokens.as_ptr(),
            stop_token_count: options.stop_tokens.len(),
            stop_texts: stops.as_ptr(),
            stop_text_count: stops.len(),
            max_seconds: options.max_seconds,
            cancel: options.cancel.as_ref().map_or(ptr::null(), |cancel| cancel.0 .0.get() as *const _),
            on_text: Some(receive),
            user: &mut receiver as *mut Receiver<'_> as *mut c_void,
            flags: if options.past_end { sys::VOLTA_WRITE_PAST_END } else { 0 },
            ..Default::default()
        };
        let mut result = WriteResult::default();
        let sequence = sequence.map_or(ptr::null_mut(), |sequence| sequence.raw);
        let tokenizer = tokenizer.map_or(ptr::null(), |tokenizer| tokenizer.raw as *const _);
        let status = unsafe { sys::volta_generator_write(self.raw, sequence, tokenizer, &raw, &mut result) };
        if let Some(panic) = receiver.panic.take() {
            resume_unwind(panic);
        }
        check(status)?;
        Ok(result)
    }
    /// What it holds now.
    pub fn bill(&self) -> Result<Bill> {
        let mut bill = Bill::default();
        check(unsafe { sys::volta_generator_get_bill(self.raw, &mut bill) })?;
        Ok(bill)
    }
    /// What computing one token at a position takes at least.
    pub fn cost(&self, position: i64) -> Result<sys::volta_token_cost> {
        let mut cost = sys::volta_token_cost::default();
        check(unsafe { sys::volta_generator_get_cost(self.raw, position, &mut cost) })?;
        Ok(cost)
    }
    /// Why it has no cache; "": it has one.
    pub fn no_cache_reason(&self) -> String {
        unsafe { owned(sys::volta_generator_no_cache_reason(self.raw)) }
    }
    /// A sequence without tokens; sampling none: the generator's.
    pub fn sequence(&mut self, sampling: Option<&SamplingOptions>) -> Result<Sequence> {
        let sampling = sampling.map_or(ptr::null(), |sampling| sampling as *const _);
        let mut raw = ptr::null_mut();
        check(unsafe { sys::volta_sequence_create(self.raw, sampling, &mut raw) })?;
        Ok(Sequence { raw, one_thread: PhantomData })
    }
    /// Draws the next token of each sequence; they share runs of the model.
    pub fn step(&mut self, sequences: &mut [&mut Sequence]) -> Result<Vec<i32>> {
        let handles: Vec<_> = sequences.iter().map(|sequence| sequence.raw).collect();
        let mut tokens = vec![0; handles.len()];
        check(unsafe { sys::volta_generator_step(self.raw, handles.as_ptr(), handles.len(), tokens.as_mut_ptr()) })?;
        Ok(tokens)
    }
}

/// See [`Generator::tokens`].
pub struct Tokens<'a> {
    generator: &'a mut Generator,
}

impl Iterator for Tokens<'_> {
    type Item = Result<i32>;
    fn next(&mut self) -> Option<Result<i32>> {
        match self.generator.next_token() {
            Err(error) if error.status() == Status::InvalidState => None,
            other => Some(other),
        }
    }
}

impl Sequence {
    pub fn append(&mut self, tokens: &[i32]) -> Result<()> {
        check(unsafe { sys::volta_sequence_append(self.raw, tokens.as_ptr(), tokens.len()) })
    }
    /// Forgets all but the first `count` tokens.
    pub fn rewind(&mut self, count: usize) -> Result<()> {
        check(unsafe { sys::volta_sequence_rewind(self.raw, count) })
    }
    /// A new sequence with the same tokens; nothing is computed again.
    pub fn fork(&mut self) -> Result<Sequence> {
        let mut raw = ptr::null_mut();
        check(unsafe { sys::volta_sequence_fork(self.raw, ptr::null(), &mut raw) })?;
        Ok(Sequence { raw, one_thread: PhantomData })
    }
    /// The logits of which its latest token was drawn, copied likewise.
    pub fn logits(&self) -> Result<Vec<f32>> {
        let (mut data, mut count) = (ptr::null(), 0);
        check(unsafe { sys::volta_sequence_logits(self.raw, &mut data, &mut count) })?;
        Ok(unsafe { lent(data, count) }.to_vec())
    }
    /// All its tokens. What the library lends ends with any call on the generator: they are copied.
    pub fn tokens(&self) -> Result<Vec<i32>> {
        let (mut data, mut count) = (ptr::null(), 0);
        check(unsafe { sys::volta_sequence_tokens(self.raw, &mut data, &mut count) })?;
        Ok(unsafe { lent(data, count) }.to_vec())
    }
}

impl Drop for Sequence {
    fn drop(&mut self) {
        unsafe { sys::volta_sequence_release(self.raw) }
    }
}

impl From<std::str::Utf8Error> for Error {
    fn from(error: std::str::Utf8Error) -> Self {
        Error::of_argument(error.to_string())
    }
}
