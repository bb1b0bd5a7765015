use crate::error::check;
use crate::graph::with_attributes;
use crate::{
    handle, owned, sys, text, Attribute, CompileOptions, Context, Element, Error, Model, OptimizerOptions, Result,
    StepReport, TapeInfo, TapeOptions, Tensor,
};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::mem::{take, ManuallyDrop};
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe, Location};
use std::ptr;

mod sealed {
    pub trait Raw {
        fn raw(&self) -> *mut crate::sys::volta_tensor;
    }
}
use sealed::Raw;

/// What a call on a tape reads: a [`Tensor`] of its own memory, which the record keeps alive, a [`Parameter`], or a result.
/// A tensor is not written between the calls that read it and the computing of the record, or its reset.
pub trait Operand: Raw {}
impl<T: Raw> Operand for T {}

impl Raw for Tensor<'static> {
    fn raw(&self) -> *mut sys::volta_tensor {
        self.raw
    }
}
impl Raw for Parameter {
    fn raw(&self) -> *mut sys::volta_tensor {
        self.tensor.raw
    }
}
impl Raw for TapeTensor<'_> {
    fn raw(&self) -> *mut sys::volta_tensor {
        self.raw
    }
}

fn pointers(operands: &[&dyn Operand]) -> Vec<*mut sys::volta_tensor> {
    operands.iter().map(|operand| operand.raw()).collect()
}

/// A copy of what is computed now if need be. Panics where the elements are of another type.
fn values<T: Element>(tensor: *mut sys::volta_tensor) -> Result<Vec<T>> {
    let (dtype, count) = unsafe { (sys::volta_tensor_dtype(tensor), sys::volta_tensor_elements(tensor) as usize) };
    assert_eq!(dtype, T::DTYPE, "the tensor has elements of another type");
    let data = unsafe { sys::volta_tensor_data(tensor) as *const T };
    if data.is_null() && count > 0 {
        check(unsafe { sys::volta_last_status() })?; // with the sentence of what it lacks
    }
    Ok(unsafe { crate::lent(data, count) }.to_vec())
}

/// A tensor of f32 that gradients are made for and an [`Optimizer`] changes: its elements are copied, not lent.
pub struct Parameter {
    tensor: Tensor<'static>,
}

impl Parameter {
    /// It requires a gradient.
    pub fn new(tensor: Tensor<'static>) -> Result<Self> {
        let mut parameter = Self { tensor };
        parameter.require_grad(true)?;
        Ok(parameter)
    }
    /// Whether backward makes it a gradient, from the next record on.
    pub fn require_grad(&mut self, required: bool) -> Result<()> {
        check(unsafe { sys::volta_tensor_set_requires_grad(self.tensor.raw, required.into()) })
    }
    pub fn shape(&self) -> Vec<i64> {
        self.tensor.shape()
    }
    pub fn values(&self) -> Vec<f32> {
        self.tensor.as_slice().to_vec()
    }
    /// The gradient that backward made; none since it was zeroed.
    pub fn grad(&self) -> Result<Option<Vec<f32>>> {
        let grad = unsafe { sys::volta_tensor_grad(self.tensor.raw) };
        (!grad.is_null()).then(|| values(grad)).transpose()
    }
    pub fn zero_grad(&self) -> Result<()> {
        check(unsafe { sys::volta_tensor_zero_grad(self.tensor.raw) })
    }
}

handle!(
    /// The trainer's update of parameters, in [`Tape::step`]. It keeps them alive.
    Optimizer,
    volta_tape_optimizer,
    volta_tape_optimizer_release
);

impl Optimizer {
    pub fn new(tape: &Tape, options: &OptimizerOptions, parameters: &[&Parameter]) -> Result<Self> {
        let tensors: Vec<_> = parameters.iter().map(|parameter| parameter.raw()).collect();
        let mut raw = ptr::null_mut();
        check(unsafe {
            sys::volta_tape_optimizer_create(tape.raw, options, tensors.as_ptr(), tensors.len(), &mut raw)
        })?;
        Ok(Self { raw })
    }
    /// Of all its parameters.
    pub fn zero_grad(&self) -> Result<()> {
        check(unsafe { sys::volta_tape_optimizer_zero_grad(self.raw) })
    }
}

/// Operators on tensors, one call after the other, with gradients and updates: each computed at once, or recorded and
/// computed together. What is called between two resets is a record; results borrow the tape, and end with it.
pub struct Tape {
    raw: *mut sys::volta_tape,
    kept: RefCell<Vec<*mut sys::volta_tensor>>, // in this record, to be given out when it ends
    gradients: Cell<bool>,
}

/// A result of a tape's record.
#[derive(Clone, Copy)]
pub struct TapeTensor<'t> {
    raw: *mut sys::volta_tensor,
    tape: &'t Tape,
}

/// How [`Tape::capture`] names what the record reads, and its outputs: as C does where there is no name.
#[derive(Clone, Copy, Default)]
pub struct CaptureOptions<'a> {
    pub names: &'a [(&'a dyn Operand, &'a str)],
    pub output_names: &'a [&'a str],
    /// The first extent of every input is chosen per session.
    pub open_batch: bool,
}

impl<'t> TapeTensor<'t> {
    pub fn tape(&self) -> &'t Tape {
        self.tape
    }
    pub fn shape(&self) -> Vec<i64> {
        let rank = unsafe { sys::volta_tensor_rank(self.raw) };
        (0..rank).map(|axis| unsafe { sys::volta_tensor_extent(self.raw, axis) }).collect()
    }
    /// Its elements, computed if need be. Panics where they are of another type.
    #[track_caller]
    pub fn values<T: Element>(&self) -> Result<Vec<T>> {
        self.tape.at(Location::caller())?;
        values(self.raw)
    }
    /// Its one element.
    #[track_caller]
    pub fn item(&self) -> Result<f64> {
        self.tape.at(Location::caller())?;
        let mut value = 0.0;
        check(unsafe { sys::volta_tensor_item(self.raw, &mut value) })?;
        Ok(value)
    }
    /// [`Tape::reset`] gives it out, as a tensor of its own.
    pub fn keep(&self) -> Result<()> {
        check(unsafe { sys::volta_tensor_keep(self.raw) })?;
        let mut kept = self.tape.kept.borrow_mut();
        if !kept.contains(&self.raw) {
            kept.push(self.raw);
        }
        Ok(())
    }
    /// Adds its gradient to those of the record's parameters.
    #[track_caller]
    pub fn backward(&self) -> Result<()> {
        self.tape.at(Location::caller())?;
        check(unsafe { sys::volta_tape_backward(self.tape.raw, self.raw) })
    }
}

impl Tape {
    fn of(raw: *mut sys::volta_tape) -> Self {
        Self { raw, kept: RefCell::default(), gradients: Cell::new(true) }
    }
    pub fn new(context: &Context, options: &TapeOptions) -> Result<Self> {
        let mut raw = ptr::null_mut();
        check(unsafe { sys::volta_tape_create(context.raw, options, &mut raw) })?;
        Ok(Self::of(raw))
    }
    /// Each call is computed before it returns.
    pub fn eager(context: &Context) -> Result<Self> {
        Self::new(context, &TapeOptions::default())
    }
    /// Calls are computed together when a result is read, or in a step.
    pub fn lazy(context: &Context) -> Result<Self> {
        Self::new(context, &TapeOptions { mode: sys::VOLTA_TAPE_LAZY, ..Default::default() })
    }
    /// The first result of the operator named `op`. A failure names the place of this call, and stays with the record.
    #[track_caller]
    pub fn apply(&self, op: &str, inputs: &[&dyn Operand], attributes: &[Attribute<'_>]) -> Result<TapeTensor<'_>> {
        let (op, place, inputs) = (text(op)?, Location::caller(), pointers(inputs));
        let file = text(place.file())?;
        let raw = with_attributes(attributes, |attributes| {
            Ok(unsafe {
                sys::volta_tape_call(
                    self.raw,
                    op.as_ptr(),
                    inputs.as_ptr(),
                    inputs.len(),
                    attributes.as_ptr(),
                    attributes.len(),
                    file.as_ptr(),
                    place.line() as i32,
                )
            })
        })?;
        self.status()?;
        Ok(TapeTensor { raw, tape: self })
    }
    /// The first `count` results of an operator that has several.
    #[track_caller]
    pub fn apply_several(
        &self,
        op: &str,
        inputs: &[&dyn Operand],
        attributes: &[Attribute<'_>],
        count: usize,
    ) -> Result<Vec<TapeTensor<'_>>> {
        let (op, place, inputs) = (text(op)?, Location::caller(), pointers(inputs));
        let (file, mut results) = (text(place.file())?, vec![ptr::null_mut(); count]);
        with_attributes(attributes, |attributes| {
            check(unsafe {
                sys::volta_tape_apply(
                    self.raw,
                    op.as_ptr(),
                    inputs.as_ptr(),
                    inputs.len(),
                    attributes.as_ptr(),
                    attributes.len(),
                    results.as_mut_ptr(),
                    count,
                    file.as_ptr(),
                    place.line() as i32,
                )
            })
        })?;
        Ok(results.into_iter().map(|raw| TapeTensor { raw, tape: self }).collect())
    }
    /// The record's first failure.
    pub fn status(&self) -> Result<()> {
        check(unsafe { sys::volta_tape_status(self.raw) })
    }
    /// The place of the next call that does not take one itself, for the report and sentences.
    fn at(&self, place: &Location<'_>) -> Result<()> {
        let file = text(place.file())?;
        unsafe { sys::volta_tape_at(self.raw, file.as_ptr(), place.line() as i32) };
        Ok(())
    }
    /// The same elements, through which no gradient goes back.
    #[track_caller]
    pub fn detach(&self, operand: &dyn Operand) -> Result<TapeTensor<'_>> {
        self.at(Location::caller())?;
        let raw = unsafe { sys::volta_tape_detach(self.raw, operand.raw()) };
        self.status()?;
        Ok(TapeTensor { raw, tape: self })
    }
    /// Runs `body`: results of calls within it get no gradient.
    pub fn without_gradients<R>(&self, body: impl FnOnce() -> R) -> Result<R> {
        struct Restored<'a>(&'a Tape, bool);
        impl Drop for Restored<'_> {
            fn drop(&mut self) {
                self.0.gradients.set(self.1);
                unsafe { sys::volta_tape_set_gradients(self.0.raw, self.1.into()) };
            }
        }
        check(unsafe { sys::volta_tape_set_gradients(self.raw, 0) })?;
        let _restored = Restored(self, self.gradients.replace(false)); // also where the body panics
        Ok(body())
    }
    /// Computes what is recorded, with its gradients.
    #[track_caller]
    pub fn flush(&self) -> Result<()> {
        self.at(Location::caller())?;
        check(unsafe { sys::volta_tape_flush(self.raw) })
    }
    /// Computes what is recorded and changes the optimizer's parameters by their gradients.
    #[track_caller]
    pub fn step(&self, optimizer: &mut Optimizer) -> Result<StepReport> {
        self.at(Location::caller())?;
        let mut report = StepReport::default();
        check(unsafe { sys::volta_tape_step(self.raw, optimizer.raw, &mut report) })?;
        Ok(report)
    }
    /// Ends the record, also where it fails. Gives what was kept, in the order of its keeping.
    pub fn reset(&mut self) -> Result<Vec<Tensor<'static>>> {
        let whole = if self.kept.get_mut().is_empty() { Ok(()) } else { self.status() };
        let (kept, ended) = self.end();
        whole.and(ended).map(|()| kept)
    }
    fn end(&mut self) -> (Vec<Tensor<'static>>, Result<()>) {
        let ended = check(unsafe { sys::volta_tape_reset(self.raw) });
        // What was kept is the host's from now on, computed or not.
        (take(self.kept.get_mut()).into_iter().map(Tensor::of_raw).collect(), ended)
    }
    pub fn info(&self) -> Result<TapeInfo> {
        let mut info = TapeInfo::default();
        check(unsafe { sys::volta_tape_get_info(self.raw, &mut info) })?;
        Ok(info)
    }
    /// When it computed, and why: lines for people, or one JSON object.
    pub fn report(&self, json: bool) -> Result<String> {
        let mut text = ptr::null();
        check(unsafe { sys::volta_tape_report(self.raw, json.into(), &mut text) })?;
        Ok(unsafe { owned(text) })
    }
    /// What the results compute, as a model: parameters are its parameters, other tensors its inputs.
    pub fn capture(&self, outputs: &[TapeTensor<'_>], options: &CaptureOptions<'_>) -> Result<Model> {
        if !options.output_names.is_empty() && options.output_names.len() != outputs.len() {
            let (names, count) = (options.output_names.len(), outputs.len());
            return Err(Error::of_argument(format!("{names} names are given for {count} outputs")));
        }
        let outputs: Vec<_> = outputs.iter().map(|output| output.raw).collect();
        let tensors: Vec<_> = options.names.iter().map(|(tensor, _)| tensor.raw() as *const _).collect();
        let names = options.names.iter().map(|(_, name)| text(name)).collect::<Result<Vec<_>>>()?;
        let names: Vec<_> = names.iter().map(|name| name.as_ptr()).collect();
        let output_names = options.output_names.iter().map(|name| text(name)).collect::<Result<Vec<_>>>()?;
        let output_names: Vec<_> = output_names.iter().map(|name| name.as_ptr()).collect();
        let options = sys::volta_capture_options {
            tensors: tensors.as_ptr(),
            names: names.as_ptr(),
            name_count: names.len(),
            output_names: if output_names.is_empty() { ptr::null() } else { output_names.as_ptr() },
            open_batch: options.open_batch.into(),
            ..Default::default()
        };
        let mut raw = ptr::null_mut();
        check(unsafe { sys::volta_tape_capture(self.raw, outputs.as_ptr(), outputs.len(), &options, &mut raw) })?;
        Ok(Model { raw })
    }
    pub fn as_ptr(&self) -> *mut sys::volta_tape {
        self.raw
    }
}

impl Drop for Tape {
    fn drop(&mut self) {
        unsafe { sys::volta_tape_release(self.raw) }
        take(self.kept.get_mut()).into_iter().map(Tensor::of_raw).for_each(drop);
    }
}

/// A function of tensors, as [`Compiled::new`] takes it.
type Body = dyn for<'t> FnMut(&'t Tape, &[&dyn Operand]) -> Result<Vec<TapeTensor<'t>>>;

struct Function {
    body: Box<Body>,
    kept: Vec<*mut sys::volta_tensor>, // by the body, in this call
    error: Option<Error>,
    panic: Option<Box<dyn Any + Send>>,
}

impl Function {
    fn run(
        &mut self,
        tape: &Tape,
        inputs: &[*mut sys::volta_tensor],
        outputs: &mut [*mut sys::volta_tensor],
    ) -> Result<()> {
        struct Given(*mut sys::volta_tensor);
        impl Raw for Given {
            fn raw(&self) -> *mut sys::volta_tensor {
                self.0
            }
        }
        let inputs: Vec<_> = inputs.iter().map(|raw| Given(*raw)).collect();
        let inputs: Vec<_> = inputs.iter().map(|input| input as &dyn Operand).collect();
        let results = (self.body)(tape, &inputs)?;
        if results.len() != outputs.len() {
            let (made, asked) = (results.len(), outputs.len());
            return Err(Error::of_argument(format!("the function gave {made} results, {asked} are asked for")));
        }
        for (output, result) in outputs.iter_mut().zip(results) {
            if !ptr::eq(result.tape, tape) {
                return Err(Error::of_argument("the function gave a result of another tape".to_string()));
            }
            *output = result.raw;
        }
        Ok(())
    }
}

unsafe extern "C" fn run(
    user: *mut c_void,
    tape: *mut sys::volta_tape,
    inputs: *const *mut sys::volta_tensor,
    input_count: usize,
    outputs: *mut *mut sys::volta_tensor,
    output_count: usize,
) -> sys::volta_status {
    let function = &mut *(user as *mut Function);
    let tape = ManuallyDrop::new(Tape::of(tape));
    let inputs = crate::lent(inputs, input_count);
    let outputs = std::slice::from_raw_parts_mut(outputs, output_count);
    let ran = catch_unwind(AssertUnwindSafe(|| function.run(&tape, inputs, outputs)));
    function.kept = tape.kept.take();
    match ran {
        Ok(Ok(())) => return sys::VOLTA_OK,
        Ok(Err(error)) => function.error = Some(error),
        Err(panic) => function.panic = Some(panic), // no unwinding passes through C: it goes on behind the call
    }
    sys::VOLTA_CANCELLED
}

/// A function with a lazy tape of its own: what it records is computed as one plan, which the next call finds again.
pub struct Compiled {
    raw: *mut sys::volta_compiled,
    tape: ManuallyDrop<Tape>, // lent by it
    function: *mut Function,
}

impl Compiled {
    /// It runs whenever it is called, and may branch and loop as it likes: another path is another plan.
    pub fn new(
        context: &Context,
        options: &CompileOptions,
        body: impl for<'t> FnMut(&'t Tape, &[&dyn Operand]) -> Result<Vec<TapeTensor<'t>>> + 'static,
    ) -> Result<Self> {
        let mut raw = ptr::null_mut();
        let function =
            Box::into_raw(Box::new(Function { body: Box::new(body), kept: vec![], error: None, panic: None }));
        let made = check(unsafe { sys::volta_compile(context.raw, Some(run), function as *mut _, options, &mut raw) });
        if let Err(error) = made {
            drop(unsafe { Box::from_raw(function) });
            return Err(error);
        }
        let tape = ManuallyDrop::new(Tape::of(unsafe { sys::volta_compiled_tape(raw) }));
        Ok(Self { raw, tape, function })
    }
    /// Runs it, and computes its `count` results. What the record before has kept is ended: [`Compiled::reset`] gives it.
    pub fn call(&mut self, inputs: &[&dyn Operand], count: usize) -> Result<Vec<TapeTensor<'_>>> {
        if !self.tape.kept.get_mut().is_empty() {
            self.tape.end().1?;
        }
        let (inputs, mut outputs) = (pointers(inputs), vec![ptr::null_mut(); count]);
        let called = check(unsafe {
            sys::volta_compiled_call(self.raw, inputs.as_ptr(), inputs.len(), outputs.as_mut_ptr(), count)
        });
        let function = unsafe { &mut *self.function };
        *self.tape.kept.get_mut() = take(&mut function.kept);
        if let Some(panic) = function.panic.take() {
            resume_unwind(panic);
        }
        function.error.take().map_or(Ok(()), Err)?;
        called?;
        Ok(outputs.into_iter().map(|raw| TapeTensor { raw, tape: &self.tape }).collect())
    }
    /// For steps, reports and capture after a call.
    pub fn tape(&self) -> &Tape {
        &self.tape
    }
    /// [`Tape::reset`] of its tape.
    pub fn reset(&mut self) -> Result<Vec<Tensor<'static>>> {
        self.tape.reset()
    }
}

impl Drop for Compiled {
    fn drop(&mut self) {
        unsafe { sys::volta_compiled_release(self.raw) }
        take(self.tape.kept.get_mut()).into_iter().map(Tensor::of_raw).for_each(drop);
        drop(unsafe { Box::from_raw(self.function) });
    }
}
