//! `ostree container …`: ostree runs this program under libexec for the word that it does not know itself.
//! Debian's ostree has none; CoreOS gets its own from rpm-ostree, which has the same library inside.

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    ostree_ext::cli::run_from_iter(std::env::args_os()).await
}
