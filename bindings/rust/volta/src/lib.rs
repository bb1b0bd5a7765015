//! Volta from Rust: define, train, save, resume, load and run small and medium neural networks, with the same bits as
//! from C.
//!
//! ```no_run
//! # fn main() -> volta::Result<()> {
//! let context = volta::Context::new()?;
//! let model = volta::Model::open(&context, "model.volta")?;
//! let mut generator = volta::Generator::new(&model, &Default::default())?;
//! let tokenizer = model.tokenizer()?.expect("the model has a tokenizer");
//! generator.start(&tokenizer.encode("Once")?)?;
//! generator.write(&volta::WriteOptions::default(), |piece, _token| {
//!     print!("{}", String::from_utf8_lossy(piece));
//!     volta::Flow::Go
//! })?;
//! # Ok(()) }
//! ```
//!
//! Everything that was made is ended when it is dropped; handles keep what they need alive, so that they may be dropped in
//! any order. Memory that the library lends is a slice that borrows the object, and what would change or end it needs that
//! object mutably. A context with everything made from it belongs to one thread: none of it is `Send`, but [`Cancel`].
//!
//! What would be wrong is not compiled. A context does not go to another thread:
//!
//! ```compile_fail,E0277
//! let context = volta::Context::new().unwrap();
//! std::thread::spawn(move || context.info());
//! ```
//!
//! nor does what was made from it, a group for one:
//!
//! ```compile_fail,E0277
//! fn wrong(group: volta::Group) {
//!     std::thread::spawn(move || group.rank());
//! }
//! ```
//!
//! what a trainer lends ends with its next call:
//!
//! ```compile_fail,E0499
//! fn wrong(trainer: &mut volta::Trainer) {
//!     let weight = trainer.parameter("fc.weight").unwrap();
//!     trainer.step_tokens().unwrap();
//!     println!("{}", weight[0]);
//! }
//! ```
//!
//! a tensor over an array keeps others from changing it:
//!
//! ```compile_fail,E0506
//! fn wrong(context: &volta::Context) {
//!     let mut data = [0.0f32; 4];
//!     let tensor = volta::Tensor::over(context, &mut data, &[4]).unwrap();
//!     data[0] = 1.0;
//!     println!("{}", tensor.as_slice::<f32>()[0]);
//! }
//! ```
//!
//! and an array that a view borrows does not go before it:
//!
//! ```compile_fail,E0597
//! fn wrong(context: &volta::Context) -> volta::Result<()> {
//!     let view = {
//!         let data = vec![0.0f32; 4];
//!         volta::View::of(context, &data, &[4])?
//!     };
//!     let mut graph = volta::Graph::new(context)?;
//!     graph.constant(&view)?;
//!     Ok(())
//! }
//! ```
//!
//! a result of a tape ends with its record:
//!
//! ```compile_fail,E0502
//! fn wrong(tape: &mut volta::Tape, x: &volta::Tensor<'static>) -> volta::Result<f64> {
//!     let y = tape.apply("mean", &[x], &[])?;
//!     tape.reset()?;
//!     y.item()
//! }
//! ```
//!
//! and memory that is only borrowed does not go into a record, which may read it later:
//!
//! ```compile_fail,E0597
//! fn wrong(context: &volta::Context, tape: &volta::Tape) -> volta::Result<f64> {
//!     let mut data = [0.0f32; 4];
//!     let x = volta::Tensor::over(context, &mut data, &[4])?;
//!     tape.apply("mean", &[&x], &[])?.item()
//! }
//! ```
//!
//! What may go to another thread does:
//!
//! ```
//! fn goes<T: Send>() {}
//! fn is_shared<T: Sync>() {}
//! goes::<volta::Cancel>();
//! goes::<volta::Error>();
//! goes::<volta::data::Loader>();
//! goes::<volta::data::Picture>();
//! is_shared::<volta::data::Dataset>();
//! ```
//!
//! Options are the structs of `volta.h` from `volta_sys`, with zeros by `Default`; where they hold pointers, a struct of
//! this crate is in their place.

pub mod data;
mod error;
mod generation;
mod graph;
mod group;
mod model;
mod session;
mod tape;
mod tensor;
mod tokenizer;
mod trainer;
pub mod tuning;

pub use error::{Error, Result, Status};
pub use generation::{Cancel, Flow, Generator, Sequence, Tokens, WriteOptions};
pub use graph::{Attribute, Graph, Init, Value};
pub use group::{Exchange, Group, GroupOptions};
pub use model::{Model, TensorInfo};
pub use session::Session;
pub use tape::{CaptureOptions, Compiled, Operand, Optimizer, Parameter, Tape, TapeTensor};
pub use tensor::{save_tensors, Element, Input, Lent, Tensor, Tensors, View};
pub use tokenizer::Tokenizer;
pub use trainer::{PlanStep, Trainer, TrainerOptions};
pub use volta_sys as sys;

use error::check;
use std::ffi::{CStr, CString};
use std::os::raw::c_char;
use std::path::Path;
use std::ptr;

/// Sizes and choices of models and plans, as `volta.h` has them.
pub type BertOptions = sys::volta_bert_options;
pub type Bill = sys::volta_bill;
pub type CompileOptions = sys::volta_compile_options;
pub type Comparison = sys::volta_comparison;
pub type ContextInfo = sys::volta_context_info;
pub type DeviceInfo = sys::volta_device_info;
pub type MachineSpeed = sys::volta_machine_speed;
pub type TrainingCost = sys::volta_training_cost;
pub type GeneratorOptions = sys::volta_generator_options;
pub type GptOptions = sys::volta_gpt_options;
pub type LlamaOptions = sys::volta_llama_options;
pub type OptimizerOptions = sys::volta_optimizer_options;
pub type SamplingOptions = sys::volta_sampling_options;
pub type StepReport = sys::volta_step_report;
pub type TapeInfo = sys::volta_tape_info;
pub type TapeOptions = sys::volta_tape_options;
pub type WriteResult = sys::volta_write_result;

/// The version of the library that is loaded.
pub fn version() -> &'static str {
    unsafe { CStr::from_ptr(sys::volta_version()) }.to_str().unwrap_or("")
}

/// A text that C reads: an interior zero is an error, not a cut.
fn text(value: &str) -> Result<CString> {
    CString::new(value).map_err(|_| Error::of_argument(format!("{value:?} has a zero byte")))
}

fn path_text(path: impl AsRef<Path>) -> Result<CString> {
    use std::os::unix::ffi::OsStrExt;
    CString::new(path.as_ref().as_os_str().as_bytes())
        .map_err(|_| Error::of_argument(format!("{:?} has a zero byte", path.as_ref())))
}

/// What C lends, copied.
unsafe fn owned(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    CStr::from_ptr(pointer).to_string_lossy().into_owned()
}

/// A slice of what C lends; of no elements where the pointer is NULL.
unsafe fn lent<'a, T>(data: *const T, count: usize) -> &'a [T] {
    if data.is_null() || count == 0 {
        return &[];
    }
    std::slice::from_raw_parts(data, count)
}

fn hash_of(ask: impl FnOnce(*mut c_char) -> sys::volta_status) -> Result<String> {
    let mut hash = [0; 33];
    check(ask(hash.as_mut_ptr()))?;
    Ok(unsafe { owned(hash.as_ptr()) })
}

/// The text of a function of the kind (memory, capacity, out length).
fn asked(ask: impl Fn(*mut c_char, usize, *mut usize) -> sys::volta_status) -> Result<String> {
    let mut bytes = 0;
    check(ask(ptr::null_mut(), 0, &mut bytes))?;
    let mut text = vec![0; bytes + 1];
    check(ask(text.as_mut_ptr(), text.len(), &mut bytes))?;
    Ok(unsafe { owned(text.as_ptr()) })
}

/// "VOLTA_OK" and so on.
pub fn status_name(status: sys::volta_status) -> &'static str {
    unsafe { CStr::from_ptr(sys::volta_status_name(status)) }.to_str().unwrap_or("")
}

/// How many devices a backend, "cpu" or "cuda", has.
pub fn device_count(backend: &str) -> Result<u32> {
    let (backend, mut count) = (text(backend)?, 0);
    check(unsafe { sys::volta_device_count(backend.as_ptr(), &mut count) })?;
    Ok(count)
}

/// One of them.
pub fn describe_device(backend: &str, index: u32) -> Result<DeviceInfo> {
    let (backend, mut info) = (text(backend)?, DeviceInfo::default());
    check(unsafe { sys::volta_device_describe(backend.as_ptr(), index, &mut info) })?;
    Ok(info)
}

/// The networks of [`Model::network`].
pub fn chat_format_names() -> Vec<String> {
    (0..)
        .map(|index| unsafe { sys::volta_chat_format_name(index) })
        .take_while(|name| !name.is_null())
        .map(|name| unsafe { owned(name) })
        .collect()
}

pub fn network_names() -> Vec<String> {
    (0..).map(|index| unsafe { sys::volta_network_name(index) }).take_while(|name| !name.is_null())
        .map(|name| unsafe { owned(name) }).collect()
}

/// A type that owns a pointer of C and ends it.
macro_rules! handle {
    ($(#[$about:meta])* $name:ident, $raw:ident, $release:ident) => {
        $(#[$about])*
        pub struct $name {
            pub(crate) raw: *mut crate::sys::$raw,
        }
        impl $name {
            /// For functions of `volta.h` that this crate has not; it stays this object's.
            pub fn as_ptr(&self) -> *mut crate::sys::$raw {
                self.raw
            }
        }
        impl Drop for $name {
            fn drop(&mut self) {
                unsafe { crate::sys::$release(self.raw) }
            }
        }
    };
}
pub(crate) use handle;

handle!(
    /// Threads, instruction set, device and memory of everything that is made in it.
    Context,
    volta_context,
    volta_context_release
);

impl Context {
    /// As many threads as cores, the best instruction set, strict.
    pub fn new() -> Result<Self> {
        let mut raw = ptr::null_mut();
        check(unsafe { sys::volta_context_create(ptr::null(), &mut raw) })?;
        Ok(Self { raw })
    }

    /// So many threads, and an instruction set: `sys::VOLTA_ISA_AUTO` or another.
    pub fn with(threads: u32, isa: sys::volta_isa) -> Result<Self> {
        let options = sys::volta_context_options { thread_count: threads, isa, ..Default::default() };
        // Safe: every pointer in the options is NULL.
        unsafe { Self::from_options(&options) }
    }

    /// With options as C has them.
    ///
    /// # Safety
    /// Texts are zero-terminated; an allocator and a log are what `volta.h` asks of them, for as long as the context lives.
    pub unsafe fn from_options(options: &sys::volta_context_options) -> Result<Self> {
        let mut raw = ptr::null_mut();
        check(sys::volta_context_create(options, &mut raw))?;
        Ok(Self { raw })
    }

    pub fn info(&self) -> Result<ContextInfo> {
        let mut info = ContextInfo::default();
        check(unsafe { sys::volta_context_get_info(self.raw, &mut info) })?;
        Ok(info)
    }
    /// Runs `body`: a long call on this context within it (a step, an evaluation, an import, a save) ends with
    /// [`Status::Cancelled`] between two pieces of its work when `cancel` is requested, or `max_seconds` (0: no end) are over. Nothing is
    /// lost; the same call made again does the same work.
    pub fn until<R>(&self, cancel: &Cancel, max_seconds: f64, body: impl FnOnce() -> R) -> Result<R> {
        struct Unset(*mut sys::volta_context);
        impl Drop for Unset {
            fn drop(&mut self) {
                unsafe { sys::volta_context_set_stop(self.0, ptr::null()) };
            }
        }
        let options = sys::volta_stop_options { cancel: cancel.as_ptr(), max_seconds, ..Default::default() };
        check(unsafe { sys::volta_context_set_stop(self.raw, &options) })?;
        let _unset = Unset(self.raw); // also where the body panics: `cancel` is borrowed no longer
        Ok(body())
    }
    pub fn device(&self) -> Result<DeviceInfo> {
        let mut info = DeviceInfo::default();
        check(unsafe { sys::volta_context_get_device(self.raw, &mut info) })?;
        Ok(info)
    }
    /// The most that the device does, measured now: about a second on all threads.
    pub fn measure_machine(&mut self) -> Result<MachineSpeed> {
        let mut speed = MachineSpeed::default();
        check(unsafe { sys::volta_measure_machine(self.raw, &mut speed) })?;
        Ok(speed)
    }
}
