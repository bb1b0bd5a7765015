//! Where the libraries are: VOLTA_DIR (a folder with lib/, or the libraries themselves), else what pkg-config says, else
//! the folder build of the tree that this crate is in.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn of_pkg_config() -> Option<PathBuf> {
    let output = Command::new("pkg-config").args(["--variable=libdir", "volta"]).output().ok()?;
    let folder = String::from_utf8(output.stdout).ok()?;
    let folder = folder.trim();
    if output.status.success() && !folder.is_empty() {
        Some(PathBuf::from(folder))
    } else {
        None
    }
}

fn holds_library(folder: &Path) -> bool {
    folder.join("libvolta.so").exists() || folder.join("libvolta.a").exists()
}

fn main() {
    println!("cargo:rerun-if-env-changed=VOLTA_DIR");
    let tree = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap()).join("../../../build");
    let given = env::var_os("VOLTA_DIR").map(PathBuf::from);
    let candidates = match given {
        Some(folder) => vec![folder.join("lib"), folder],
        None => of_pkg_config().into_iter().chain(Some(tree)).collect(),
    };
    let folder = candidates.iter().find(|folder| holds_library(folder)).unwrap_or_else(|| {
        panic!("libvolta is not in {candidates:?}: build it with make, or name its folder in VOLTA_DIR")
    });
    let folder = folder.canonicalize().unwrap();
    println!("cargo:rustc-link-search=native={}", folder.display());
    println!("cargo:libdir={}", folder.display()); // DEP_VOLTA_LIBDIR of crates that depend on this
}
