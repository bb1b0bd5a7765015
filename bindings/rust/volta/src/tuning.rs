//! Tuning and the profiler: what makes a context faster, and where its time goes.

use crate::error::check;
use crate::{asked, owned, path_text, sys, Context, Flow, Result, Session, Trainer};
use std::any::Any;
use std::ffi::c_void;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::path::Path;
use std::ptr;

/// Structs as `volta.h` has them.
pub type ProfileInfo = sys::volta_profile_info;
pub type TuneShape = sys::volta_tune_shape;

/// What is tuned: shapes, and all products of a session and a trainer.
#[derive(Default)]
pub struct TuneOptions<'a> {
    pub shapes: &'a [TuneShape],
    pub session: Option<&'a Session>,
    pub trainer: Option<&'a Trainer>,
    /// 0: 3 for each product, at most 20 in all.
    pub seconds: f64,
    /// 0: 5 and 1.
    pub runs: u32,
    pub warmup: u32,
}

struct Receiver<'a> {
    progress: &'a mut dyn FnMut(&sys::volta_tune_report) -> Flow,
    panic: Option<Box<dyn Any + Send>>,
}

unsafe extern "C" fn told(user: *mut c_void, report: *const sys::volta_tune_report) -> i32 {
    let receiver = &mut *(user as *mut Receiver<'_>);
    match catch_unwind(AssertUnwindSafe(|| (receiver.progress)(&*report))) {
        Ok(flow) => (flow == Flow::Stop) as i32,
        Err(panic) => {
            receiver.panic = Some(panic); // it goes on behind the call
            1
        }
    }
}

/// All steps of one operator.
#[derive(Clone, Debug)]
pub struct ProfileOperator {
    pub name: String,
    pub calls: u64,
    pub total_ns: u64,
    pub share: f64,
    pub operations: f64,
    pub bytes: u64,
}

/// One event of one lane; `numbers` holds its other fields.
#[derive(Clone)]
pub struct ProfileEvent {
    pub name: String,
    pub node: String,
    pub kernel: String,
    pub numbers: sys::volta_profile_event,
}

impl Context {
    /// Searches the fastest way through products for this machine. No choice changes a bit of any result.
    pub fn tune(&mut self, options: &TuneOptions<'_>, mut progress: impl FnMut(&sys::volta_tune_report) -> Flow) -> Result<()> {
        let mut receiver = Receiver { progress: &mut progress, panic: None };
        let raw = sys::volta_tune_options {
            shapes: options.shapes.as_ptr(),
            shape_count: options.shapes.len(),
            session: options.session.map_or(ptr::null(), |session| session.as_ptr() as *const _),
            trainer: options.trainer.map_or(ptr::null(), |trainer| trainer.as_ptr() as *const _),
            runs: options.runs,
            warmup: options.warmup,
            seconds: options.seconds,
            progress: Some(told),
            user: &mut receiver as *mut Receiver<'_> as *mut c_void,
            ..Default::default()
        };
        let status = unsafe { sys::volta_tune(self.raw, &raw) };
        if let Some(panic) = receiver.panic.take() {
            resume_unwind(panic);
        }
        check(status)
    }
    /// Why a product is computed as it is. `flags`: `sys::VOLTA_EXPLAIN_PACKED_ONCE` and so on.
    pub fn explain_matmul(&mut self, shape: &TuneShape, flags: u32) -> Result<String> {
        asked(|text, capacity, bytes| unsafe {
            sys::volta_explain_matmul(self.raw, shape, flags, text, capacity, bytes)
        })
    }
    /// Starts recording; capacity 0: 65536 events.
    pub fn start_profile(&mut self, capacity: u64) -> Result<()> {
        let options = sys::volta_profile_options { capacity, ..Default::default() };
        check(unsafe { sys::volta_profile_start(self.raw, &options) })
    }
    pub fn stop_profile(&mut self) -> Result<()> {
        check(unsafe { sys::volta_profile_stop(self.raw) })
    }
    pub fn profile(&self) -> Result<ProfileInfo> {
        let mut info = ProfileInfo::default();
        check(unsafe { sys::volta_profile_get_info(self.raw, &mut info) })?;
        Ok(info)
    }
    /// The longest total first.
    pub fn profile_operators(&self) -> Result<Vec<ProfileOperator>> {
        let count = self.profile()?.operator_count as usize;
        let row = |index| {
            let mut raw = sys::volta_profile_operator::default();
            check(unsafe { sys::volta_profile_get_operator(self.raw, index, &mut raw) })?;
            Ok(ProfileOperator {
                name: unsafe { owned(raw.name) },
                calls: raw.calls,
                total_ns: raw.total_ns,
                share: raw.share,
                operations: raw.operations,
                bytes: raw.bytes,
            })
        };
        (0..count).map(row).collect()
    }
    /// Event `index`, below `profile().event_count`.
    pub fn profile_event(&self, index: usize) -> Result<ProfileEvent> {
        let mut raw = sys::volta_profile_event::default();
        check(unsafe { sys::volta_profile_get_event(self.raw, index, &mut raw) })?;
        let (name, node, kernel) = unsafe { (owned(raw.name), owned(raw.node), owned(raw.kernel)) };
        Ok(ProfileEvent { name, node, kernel, numbers: raw })
    }
    /// The profile in the Chrome trace event format.
    pub fn write_trace(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path_text(path)?;
        check(unsafe { sys::volta_profile_write_trace(self.raw, path.as_ptr()) })
    }
}
