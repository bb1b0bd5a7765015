use crate::error::check;
use crate::tensor::pointers;
use crate::{hash_of, lent, owned, path_text, sys, text, Bill, Error, Group, Input, MachineSpeed, Model, Result, StepReport, TrainingCost};
use std::ffi::c_void;
use std::ops::Range;
use std::path::Path;
use std::ptr;

/// Forward, backward, clipping and update as one plan. Its parameters are its own.
pub struct Trainer {
    raw: *mut sys::volta_trainer,
    model: *mut sys::volta_model, // which it trains, to be compared
    group: Option<Group>,         // ends behind raw
}

/// A step of a trainer's plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanStep {
    /// The operator's name.
    pub operation: String,
    /// Bytes of activations that hold something while it runs.
    pub alive: u64,
    /// `sys::VOLTA_PLAN_FORWARD` and so on.
    pub part: sys::volta_plan_part,
}

unsafe extern "C" fn keep_step(user: *mut c_void, step: *const sys::volta_plan_step) {
    let (steps, step) = (&mut *(user as *mut Vec<PlanStep>), &*step);
    steps.push(PlanStep { operation: owned(step.operation), alive: step.alive, part: step.part });
}

/// `volta_trainer_options` without its pointers: these are the fields beside `numbers`.
#[derive(Clone, Default)]
pub struct TrainerOptions {
    /// Of one micro-batch, all inputs in the model's order.
    pub input_shapes: Vec<Vec<i64>>,
    /// Names or patterns of parameters that keep their bits.
    pub frozen: Vec<String>,
    pub class_weights: Vec<f64>,
    /// Where moments lie in a file rather than in memory.
    pub state_folder: Option<String>,
    /// The ranks that compute the `shards` of `numbers`; none: this process.
    pub group: Option<Group>,
    /// Everything else; pointers in it are ignored.
    pub numbers: sys::volta_trainer_options,
}

impl TrainerOptions {
    fn with_raw<R>(&self, call: impl FnOnce(&sys::volta_trainer_options) -> Result<R>) -> Result<R> {
        let extents = self.input_shapes.concat();
        let frozen = self.frozen.iter().map(|pattern| text(pattern)).collect::<Result<Vec<_>>>()?;
        let patterns: Vec<_> = frozen.iter().map(|pattern| pattern.as_ptr()).collect();
        let folder = self.state_folder.as_ref().map(|folder| text(folder)).transpose()?;
        let raw = sys::volta_trainer_options {
            input_shapes: if extents.is_empty() { ptr::null() } else { extents.as_ptr() },
            input_extent_count: extents.len(),
            frozen: if patterns.is_empty() { ptr::null() } else { patterns.as_ptr() },
            frozen_count: patterns.len(),
            class_weights: if self.class_weights.is_empty() { ptr::null() } else { self.class_weights.as_ptr() },
            class_weight_count: self.class_weights.len(),
            state_folder: folder.as_ref().map_or(ptr::null(), |folder| folder.as_ptr()),
            group: self.group.as_ref().map_or(ptr::null_mut(), Group::as_ptr),
            ..self.numbers
        };
        call(&raw)
    }
}

impl Trainer {
    pub fn new(model: &Model, options: &TrainerOptions) -> Result<Self> {
        let mut trainer = Self { raw: ptr::null_mut(), model: model.raw, group: options.group.clone() };
        options.with_raw(|options| {
            let made = unsafe { sys::volta_trainer_create(model.raw, options, &mut trainer.raw) };
            trainer.check(made)
        })?;
        Ok(trainer)
    }
    /// The error of a call that may have exchanged something; a panic of the exchange goes on here.
    fn check(&self, status: sys::volta_status) -> Result<()> {
        if status != sys::VOLTA_OK {
            self.group.iter().for_each(Group::resume_panic);
        }
        check(status)
    }
    /// What [`Trainer::new`] would need, and what its steps would cost. Without a speed the cost has no seconds.
    pub fn estimate(model: &Model, options: &TrainerOptions, speed: Option<&MachineSpeed>) -> Result<(Bill, TrainingCost)> {
        options.with_raw(|options| {
            let (mut bill, mut cost) = (Bill::default(), TrainingCost::default());
            let speed = speed.map_or(ptr::null(), |speed| speed as *const _);
            check(unsafe { sys::volta_trainer_estimate(model.raw, options, speed, &mut bill, &mut cost) })?;
            Ok((bill, cost))
        })
    }
    /// The steps of the plan that [`Trainer::new`] would make, in their order.
    pub fn estimate_steps(model: &Model, options: &TrainerOptions) -> Result<Vec<PlanStep>> {
        options.with_raw(|options| {
            let mut steps: Vec<PlanStep> = Vec::new();
            let user = &mut steps as *mut Vec<PlanStep> as *mut c_void;
            check(unsafe { sys::volta_trainer_estimate_steps(model.raw, options, Some(keep_step), user) })?;
            Ok(steps)
        })
    }
    /// Goes on where the checkpoint was written, bit for bit.
    pub fn resume(checkpoint: &Model) -> Result<Self> {
        Self::resumed(checkpoint, None)
    }
    /// The same, with the ranks that compute its shards from now on.
    pub fn resume_in(checkpoint: &Model, group: &Group) -> Result<Self> {
        Self::resumed(checkpoint, Some(group))
    }
    fn resumed(checkpoint: &Model, group: Option<&Group>) -> Result<Self> {
        let mut trainer = Self { raw: ptr::null_mut(), model: checkpoint.raw, group: group.cloned() };
        let of_run = group.map(|group| sys::volta_trainer_options { group: group.as_ptr(), ..Default::default() });
        let of_run = of_run.as_ref().map_or(ptr::null(), |options| options as *const _);
        let made = unsafe { sys::volta_trainer_resume(checkpoint.raw, of_run, &mut trainer.raw) };
        trainer.check(made)?;
        Ok(trainer)
    }
    /// Which rows of a step's batch this process reads, counted along the first extent of the inputs: the others may hold anything.
    pub fn rows(&self) -> Result<Range<u64>> {
        let (mut first, mut count) = (0, 0);
        check(unsafe { sys::volta_trainer_rows(self.raw, &mut first, &mut count) })?;
        Ok(first..first + count)
    }
    /// One step: inputs and targets hold all micro-batches one after the other.
    pub fn step(&mut self, inputs: &[&dyn Input], targets: &dyn Input) -> Result<StepReport> {
        let (inputs, mut report) = (pointers(inputs), StepReport::default());
        self.check(unsafe {
            sys::volta_trainer_step(self.raw, inputs.as_ptr(), inputs.len(), targets.raw(), &mut report)
        })?;
        Ok(report)
    }
    /// A token stream as data, copied.
    pub fn set_tokens(&mut self, tokens: &[i32]) -> Result<()> {
        self.check(unsafe { sys::volta_trainer_set_tokens(self.raw, tokens.as_ptr(), tokens.len()) })
    }
    /// One step on the next batch of the token stream.
    pub fn step_tokens(&mut self) -> Result<StepReport> {
        let mut report = StepReport::default();
        self.check(unsafe { sys::volta_trainer_step_tokens(self.raw, &mut report) })?;
        Ok(report)
    }
    pub fn evaluate_tokens(&mut self, tokens: &[i32]) -> Result<f64> {
        let mut loss = 0.0;
        self.check(unsafe { sys::volta_trainer_evaluate_tokens(self.raw, tokens.as_ptr(), tokens.len(), &mut loss) })?;
        Ok(loss)
    }
    pub fn current_step(&self) -> u64 {
        unsafe { sys::volta_trainer_current_step(self.raw) }
    }
    /// A parameter's current values. They are lent until the next call on the trainer, whatever it is: hence `&mut`.
    pub fn parameter(&mut self, name: &str) -> Result<&[f32]> {
        let (name, mut data, mut count) = (text(name)?, ptr::null(), 0);
        check(unsafe { sys::volta_trainer_parameter(self.raw, name.as_ptr(), &mut data, &mut count) })?;
        Ok(unsafe { lent(data, count) })
    }
    /// Its gradient of the latest step, lent likewise.
    pub fn gradient(&mut self, name: &str) -> Result<&[f32]> {
        let (name, mut data, mut count) = (text(name)?, ptr::null(), 0);
        check(unsafe { sys::volta_trainer_gradient(self.raw, name.as_ptr(), &mut data, &mut count) })?;
        Ok(unsafe { lent(data, count) })
    }
    pub fn hash(&self) -> Result<String> {
        let hash = hash_of(|out| unsafe { sys::volta_trainer_hash(self.raw, out) });
        if hash.is_err() {
            self.group.iter().for_each(Group::resume_panic);
        }
        hash
    }
    /// Copies the trained parameters into the model, which must be the one that it trains: nothing is lent of it then.
    pub fn update_model(&mut self, model: &mut Model) -> Result<()> {
        if model.raw != self.model {
            return Err(Error::of_argument("the trainer trains another model".to_string()));
        }
        self.check(unsafe { sys::volta_trainer_update_model(self.raw) })
    }
    /// Plans so many steps in all, from which the schedule follows from now on.
    pub fn extend(&mut self, steps: u64) -> Result<()> {
        self.check(unsafe { sys::volta_trainer_extend(self.raw, steps) })
    }
    /// A checkpoint: a model file from which [`Trainer::resume`] goes on.
    pub fn save(&mut self, path: impl AsRef<Path>) -> Result<()> {
        let path = path_text(path)?;
        self.check(unsafe { sys::volta_trainer_save(self.raw, path.as_ptr()) })
    }
    /// The same checkpoint as a folder in which every rank of the group writes a part.
    pub fn save_sharded(&mut self, folder: impl AsRef<Path>) -> Result<()> {
        let folder = path_text(folder)?;
        self.check(unsafe { sys::volta_trainer_save_sharded(self.raw, folder.as_ptr()) })
    }
    /// Options in force, without their pointers.
    pub fn options(&self) -> Result<TrainerOptions> {
        let mut raw = sys::volta_trainer_options::default();
        check(unsafe { sys::volta_trainer_get_options(self.raw, &mut raw) })?;
        let (class_weights, frozen) = unsafe {
            (lent(raw.class_weights, raw.class_weight_count).to_vec(), lent(raw.frozen, raw.frozen_count))
        };
        let frozen = frozen.iter().map(|name| unsafe { owned(*name) }).collect();
        let extents = unsafe { lent(raw.input_shapes, raw.input_extent_count) };
        raw.input_shapes = ptr::null();
        raw.class_weights = ptr::null();
        raw.frozen = ptr::null();
        let state_folder =
            if raw.state_folder.is_null() { None } else { Some(unsafe { owned(raw.state_folder) }) };
        raw.state_folder = ptr::null();
        raw.group = ptr::null_mut();
        let (input_shapes, group) = (vec![extents.to_vec()], self.group.clone());
        Ok(TrainerOptions { input_shapes, frozen, class_weights, state_folder, group, numbers: raw })
    }
    /// The plan as text.
    pub fn plan(&mut self) -> Result<String> {
        let mut text = ptr::null();
        check(unsafe { sys::volta_trainer_print_plan(self.raw, &mut text) })?;
        Ok(unsafe { owned(text) })
    }
    pub fn as_ptr(&self) -> *mut sys::volta_trainer {
        self.raw
    }
    pub fn bill(&self) -> Result<Bill> {
        let mut bill = Bill::default();
        check(unsafe { sys::volta_trainer_get_bill(self.raw, &mut bill) })?;
        Ok(bill)
    }
}

impl Drop for Trainer {
    fn drop(&mut self) {
        unsafe { sys::volta_trainer_release(self.raw) }
    }
}
