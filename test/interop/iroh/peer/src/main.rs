//! iroh-blobs as a peer for tests. Endpoints are on the loopback address and know no relay.
//!
//! `iroh-peer send PATH` prints a ticket of the folder or file, as a collection, and serves it until stdin ends.
//! `iroh-peer receive TICKET FOLDER` writes the blobs of a collection into a folder, under their names.

use std::path::{Path, PathBuf};

use anyhow::{bail, ensure, Context, Result};
use iroh::{endpoint::presets, protocol::Router, Endpoint, RelayMode};
use iroh_blobs::{
    format::collection::Collection, store::mem::MemStore, ticket::BlobTicket, BlobFormat, BlobsProtocol, Hash,
};
use tokio::io::AsyncReadExt;

#[tokio::main]
async fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["send", path] => send(Path::new(path)).await,
        ["receive", ticket, folder] => receive(ticket.parse()?, Path::new(folder)).await,
        _ => bail!("usage: iroh-peer send PATH | receive TICKET FOLDER"),
    }
}

async fn bind() -> Result<Endpoint> {
    let builder = Endpoint::builder(presets::Minimal).relay_mode(RelayMode::Disabled);
    Ok(builder.bind_addr("127.0.0.1:0")?.bind().await?)
}

async fn send(path: &Path) -> Result<()> {
    let store = MemStore::new();
    let parent = path.parent().context("the path has no parent")?;
    let mut entries: Vec<(String, Hash)> = Vec::new();
    for file in files_in(path)? {
        let name = file.strip_prefix(parent)?.to_str().context("a name that is not UTF-8")?.to_owned();
        entries.push((name, store.blobs().add_path(&file).await?.hash));
    }
    entries.sort();
    let tag = entries.into_iter().collect::<Collection>().store(&*store).await?;
    let router = Router::builder(bind().await?).accept(iroh_blobs::ALPN, BlobsProtocol::new(&store, None)).spawn();
    println!("{}", BlobTicket::new(router.endpoint().addr(), tag.hash(), BlobFormat::HashSeq));
    tokio::io::stdin().read_to_end(&mut Vec::new()).await?;
    router.shutdown().await?;
    Ok(())
}

async fn receive(ticket: BlobTicket, folder: &Path) -> Result<()> {
    let store = MemStore::new();
    let endpoint = bind().await?;
    let connection = endpoint.connect(ticket.addr().clone(), iroh_blobs::ALPN).await?;
    store.remote().fetch(connection, ticket.hash_and_format()).await?;
    for (name, hash) in Collection::load(ticket.hash(), &*store).await?.iter() {
        ensure!(!name.split('/').any(|part| matches!(part, "" | "." | "..")), "the name {name:?} is no path");
        let target = folder.join(name);
        tokio::fs::create_dir_all(target.parent().context("no parent")?).await?;
        tokio::fs::write(&target, store.blobs().get_bytes(*hash).await?).await?;
    }
    endpoint.close().await;
    Ok(())
}

/// All files below a path, or the path itself.
fn files_in(path: &Path) -> Result<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path)? {
        files.extend(files_in(&entry?.path())?);
    }
    Ok(files)
}
