//! Catching calls: the filter in the kernel, and the signal that it sends.
//!
//! Owns which calls are caught. The list is what can change a file's bytes or names, or make them
//! durable, on Linux. Calls that move bytes between files inside of the kernel are answered as
//! unknown: every caller of them can do without.

use libc::{c_int, c_void, siginfo_t, sock_filter};

use super::{calls, die, raw};

const CAUGHT: [i64; 33] = [
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_pwrite64,
    libc::SYS_pwritev,
    libc::SYS_truncate,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_sync,
    libc::SYS_syncfs,
    libc::SYS_sync_file_range,
    libc::SYS_creat,
    libc::SYS_openat2,
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_link,
    libc::SYS_linkat,
    libc::SYS_unlink,
    libc::SYS_unlinkat,
    libc::SYS_mkdir,
    libc::SYS_mkdirat,
    libc::SYS_rmdir,
    libc::SYS_symlink,
    libc::SYS_symlinkat,
    libc::SYS_mknod,
    libc::SYS_mknodat,
    libc::SYS_io_submit,
    libc::SYS_process_vm_writev,
    libc::SYS_open_by_handle_at,
    libc::SYS_vmsplice,
    libc::SYS_uselib,
];

/// Calls that are answered with `ENOSYS`.
const UNKNOWN: [i64; 7] = [
    libc::SYS_copy_file_range,
    libc::SYS_sendfile,
    libc::SYS_splice,
    libc::SYS_tee,
    libc::SYS_pwritev2,
    libc::SYS_io_uring_setup,
    libc::SYS_io_setup,
];

/// Flags of an `open` that changes something, or whose writes are durable by themselves.
const OPEN_FLAGS: i32 =
    libc::O_CREAT | libc::O_TRUNC | libc::O_DSYNC | (libc::O_TMPFILE & !libc::O_DIRECTORY);

/// Offsets in `struct seccomp_data`.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;
/// `AUDIT_ARCH_X86_64`.
const X86_64: u32 = 0xC000_003E;
/// `FICLONE` and `FICLONERANGE`: two files share their bytes from then on.
const CLONES: [u32; 2] = [0x4004_9409, 0x4020_940D];

/// A program for the kernel's filter. Every part of it loads what it looks at, and goes on to the
/// next part where it does not apply.
struct Program(Vec<sock_filter>);

impl Program {
    fn new() -> Self {
        let mut program = Self(Vec::new());
        program.load(ARCHITECTURE);
        program.jump(libc::BPF_JEQ, X86_64, 1, 0);
        program.answer(libc::SECCOMP_RET_KILL_PROCESS);
        program.load(argument(5));
        program.jump(libc::BPF_JEQ, lower(raw::COOKIE), 0, 3);
        program.load(argument(5) + 4);
        program.jump(libc::BPF_JEQ, lower(raw::COOKIE >> 32), 0, 1);
        program.answer(libc::SECCOMP_RET_ALLOW);
        program.load(NUMBER);
        for number in CAUGHT {
            program.jump(libc::BPF_JEQ, call(number), 0, 1);
            program.answer(libc::SECCOMP_RET_TRAP);
        }
        for number in UNKNOWN {
            program.jump(libc::BPF_JEQ, call(number), 0, 1);
            program.answer(libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned());
        }
        for (number, flags) in [(libc::SYS_open, 1), (libc::SYS_openat, 2)] {
            program.jump(libc::BPF_JEQ, call(number), 0, 4);
            program.load(argument(flags));
            program.jump(libc::BPF_JSET, OPEN_FLAGS.cast_unsigned(), 0, 1);
            program.answer(libc::SECCOMP_RET_TRAP);
            program.answer(libc::SECCOMP_RET_ALLOW);
        }
        program.clones();
        program.shared_maps();
        program.answer(libc::SECCOMP_RET_ALLOW);
        program
    }

    fn clones(&mut self) {
        self.jump(libc::BPF_JEQ, call(libc::SYS_ioctl), 0, 5);
        self.load(argument(1));
        self.jump(libc::BPF_JEQ, CLONES[0], 1, 0);
        self.jump(libc::BPF_JEQ, CLONES[1], 0, 1);
        self.answer(libc::SECCOMP_RET_ERRNO | libc::EOPNOTSUPP.cast_unsigned());
        self.answer(libc::SECCOMP_RET_ALLOW);
    }

    /// Memory that is shared with a file and may be written.
    fn shared_maps(&mut self) {
        self.jump(libc::BPF_JEQ, call(libc::SYS_mmap), 0, 7);
        self.load(argument(2));
        self.jump(libc::BPF_JSET, libc::PROT_WRITE.cast_unsigned(), 0, 4);
        self.load(argument(3));
        self.jump(libc::BPF_JSET, libc::MAP_ANONYMOUS.cast_unsigned(), 2, 0);
        self.jump(libc::BPF_JSET, libc::MAP_SHARED.cast_unsigned(), 0, 1);
        self.answer(libc::SECCOMP_RET_TRAP);
        self.answer(libc::SECCOMP_RET_ALLOW);
    }

    fn push(&mut self, code: u32, jt: u8, jf: u8, k: u32) {
        let code = u16::try_from(code).expect("an instruction has 16 bits");
        self.0.push(sock_filter { code, jt, jf, k });
    }

    fn load(&mut self, at: u32) {
        self.push(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, at);
    }

    fn jump(&mut self, test: u32, k: u32, if_so: u8, if_not: u8) {
        self.push(libc::BPF_JMP | test | libc::BPF_K, if_so, if_not, k);
    }

    fn answer(&mut self, answer: u32) {
        self.push(libc::BPF_RET | libc::BPF_K, 0, 0, answer);
    }
}

/// Where the lower half of an argument stands.
fn argument(index: u32) -> u32 {
    ARGUMENTS + 8 * index
}

fn lower(value: u64) -> u32 {
    u32::try_from(value & u64::from(u32::MAX)).expect("the upper half is cut off")
}

fn call(number: i64) -> u32 {
    u32::try_from(number).expect("the numbers of calls are small")
}

/// Catches calls from now on, in this thread and all that it will start.
pub(super) fn install() {
    let mut program = Program::new().0;
    let filter = libc::sock_fprog {
        len: u16::try_from(program.len()).expect("the program is short"),
        filter: program.as_mut_ptr(),
    };
    // SAFETY: the structures are what the calls take and live until after them. The handler may
    // interrupt any code at a system call: it allocates from the C library, whose own calls are not
    // caught, and takes no lock that the interrupted code can hold.
    let installed = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_call as extern "C" fn(c_int, *mut siginfo_t, *mut c_void) as usize;
        // A handler of another signal that interrupts this one may make calls of its own.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER | libc::SA_RESTART;
        libc::sigaction(libc::SIGSYS, &raw const action, std::ptr::null_mut()) == 0
            && libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::SECCOMP_MODE_FILTER,
                &raw const filter,
            ) == 0
    };
    if !installed {
        die("the kernel takes no seccomp filter");
    }
}

/// The kernel did not carry out a call, and asks what to answer.
extern "C" fn on_call(_signal: c_int, _info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a context to a handler with SA_SIGINFO, and nobody else uses it
    // before the handler returns.
    let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    let registers = &mut context.uc_mcontext.gregs;
    let register = |name: c_int| usize::try_from(name).expect("registers are numbered from 0");
    let read = |name: c_int| registers[register(name)].cast_unsigned();
    let call = raw::Call {
        number: registers[register(libc::REG_RAX)],
        args: [
            read(libc::REG_RDI),
            read(libc::REG_RSI),
            read(libc::REG_RDX),
            read(libc::REG_R10),
            read(libc::REG_R8),
        ],
    };
    let answer = calls::answer(call);
    context.uc_mcontext.gregs[register(libc::REG_RAX)] = answer;
}
