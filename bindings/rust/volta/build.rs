//! Programs of this workspace find the library where it was linked.

fn main() {
    if let Ok(folder) = std::env::var("DEP_VOLTA_LIBDIR") {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{folder}");
    }
}
