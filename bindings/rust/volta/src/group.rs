use crate::error::check;
use crate::{sys, text, Context, Result};
use std::any::Any;
use std::cell::RefCell;
use std::ffi::c_void;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::ptr;
use std::rc::Rc;

/// What a group's transport is asked for: to send bytes to a rank and to fill others with what that rank sends, both ways at once;
/// either may be none. What it says of a failure ends the group. See `volta_exchange` in `volta.h`.
pub type Exchange = dyn FnMut(u32, &[u8], &mut [u8]) -> std::result::Result<(), String>;

/// `volta_group_options`.
#[derive(Clone, Default)]
pub struct GroupOptions {
    /// "local", "tcp", "mpi" or "nccl"; "": "local".
    pub transport: String,
    /// local: a folder that all of them may write; tcp, nccl: HOST:PORT where rank 0 listens; mpi: none.
    pub address: String,
    /// nccl: its file; "": libnccl.so.2.
    pub library: String,
    pub rank: u32,
    /// Processes, a power of two. 0: 1; mpi: as many as it says, and rank is what it says.
    pub size: u32,
    /// Seconds; 0: 30.
    pub timeout: f64,
}

struct Transport {
    exchange: RefCell<Box<Exchange>>,
    panic: RefCell<Option<Box<dyn Any + Send>>>,
}

struct Joined {
    raw: *mut sys::volta_group,
    transport: Option<Box<Transport>>, // outlives raw
}

/// Processes that train one model together, given to trainers as [`crate::TrainerOptions::group`]. A clone is the same group, which
/// ends with the last one; a trainer has one.
#[derive(Clone)]
pub struct Group(Rc<Joined>);

unsafe extern "C" fn run(
    user: *mut c_void,
    peer: u32,
    send: *const c_void,
    send_bytes: usize,
    receive: *mut c_void,
    receive_bytes: usize,
    text: *mut sys::c_char,
    text_bytes: usize,
) -> sys::volta_status {
    let transport = &*(user as *const Transport);
    let send = crate::lent(send as *const u8, send_bytes);
    let receive: &mut [u8] =
        if receive_bytes == 0 { &mut [] } else { std::slice::from_raw_parts_mut(receive as *mut u8, receive_bytes) };
    let ran = catch_unwind(AssertUnwindSafe(|| match transport.exchange.try_borrow_mut() {
        Ok(mut exchange) => exchange(peer, send, receive),
        Err(_) => Err("an exchange cannot be part of another one".to_string()),
    }));
    let why = match ran {
        Ok(Ok(())) => return sys::VOLTA_OK,
        Ok(Err(why)) => why,
        Err(panic) => {
            *transport.panic.borrow_mut() = Some(panic); // no unwinding passes through C: it goes on behind the call
            format!("exchange with rank {peer} panicked")
        }
    };
    let bytes = why.len().min(text_bytes.saturating_sub(1));
    ptr::copy_nonoverlapping(why.as_ptr(), text as *mut u8, bytes);
    if bytes < text_bytes {
        *text.add(bytes) = 0;
    }
    sys::VOLTA_IO_ERROR
}

impl Group {
    /// Joins: returns when all ranks have.
    pub fn join(context: &Context, options: &GroupOptions) -> Result<Self> {
        Self::made(context, options, None)
    }
    /// Joins by a transport of the program's own, which runs on the thread that calls a trainer.
    pub fn over(
        context: &Context,
        rank: u32,
        size: u32,
        exchange: impl FnMut(u32, &[u8], &mut [u8]) -> std::result::Result<(), String> + 'static,
    ) -> Result<Self> {
        let options = GroupOptions { transport: "host".to_string(), rank, size, ..Default::default() };
        let transport = Transport { exchange: RefCell::new(Box::new(exchange)), panic: RefCell::new(None) };
        Self::made(context, &options, Some(Box::new(transport)))
    }
    fn made(context: &Context, options: &GroupOptions, transport: Option<Box<Transport>>) -> Result<Self> {
        let (name, address, library) = (text(&options.transport)?, text(&options.address)?, text(&options.library)?);
        let given = sys::volta_group_options {
            transport: if options.transport.is_empty() { ptr::null() } else { name.as_ptr() },
            address: if options.address.is_empty() { ptr::null() } else { address.as_ptr() },
            library: if options.library.is_empty() { ptr::null() } else { library.as_ptr() },
            rank: options.rank,
            size: options.size,
            timeout: options.timeout,
            exchange: if transport.is_some() { Some(run) } else { None },
            user: transport.as_ref().map_or(ptr::null_mut(), |one| &**one as *const Transport as *mut c_void),
            ..Default::default()
        };
        let mut raw = ptr::null_mut();
        check(unsafe { sys::volta_group_create(context.raw, &given, &mut raw) })?;
        Ok(Self(Rc::new(Joined { raw, transport })))
    }
    pub fn rank(&self) -> u32 {
        unsafe { sys::volta_group_rank(self.0.raw) }
    }
    pub fn size(&self) -> u32 {
        unsafe { sys::volta_group_size(self.0.raw) }
    }
    pub fn as_ptr(&self) -> *mut sys::volta_group {
        self.0.raw
    }
    /// A panic of the exchange, which the library's frames have held, goes on.
    pub(crate) fn resume_panic(&self) {
        let panic = self.0.transport.as_ref().and_then(|transport| transport.panic.borrow_mut().take());
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }
}

impl Drop for Joined {
    fn drop(&mut self) {
        unsafe { sys::volta_group_release(self.raw) }
    }
}
