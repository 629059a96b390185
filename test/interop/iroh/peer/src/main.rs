//! iroh-blobs as a peer for tests and benches. Endpoints are on the loopback address and know no relay.
//!
//! `iroh-peer send PATH` prints a ticket of the folder or file, as a collection, and serves it until stdin ends.
//! `iroh-peer receive TICKET FOLDER` writes the blobs of a collection into a folder, under their names.
//! `iroh-peer import PATH STORE` puts a folder or file into a new store on the disk, and prints the collection's hash.

use std::path::{Path, PathBuf};

use anyhow::{bail, ensure, Context, Result};
use iroh::{endpoint::presets, protocol::Router, Endpoint, RelayMode};
use iroh_blobs::{
    api::{blobs::{AddPathOptions, ImportMode}, TempTag},
    format::collection::Collection,
    store::{fs::FsStore, mem::MemStore},
    ticket::BlobTicket,
    BlobFormat, BlobsProtocol, Hash,
};
use n0_future::{stream, BufferedStreamExt, StreamExt};
use tokio::io::AsyncReadExt;

#[tokio::main]
async fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["send", path] => send(Path::new(path)).await,
        ["receive", ticket, folder] => receive(ticket.parse()?, Path::new(folder)).await,
        ["import", path, store] => import(Path::new(path), Path::new(store)).await,
        _ => bail!("usage: iroh-peer send PATH | receive TICKET FOLDER | import PATH STORE"),
    }
}

async fn bind() -> Result<Endpoint> {
    let builder = Endpoint::builder(presets::Minimal).relay_mode(RelayMode::Disabled);
    Ok(builder.bind_addr("127.0.0.1:0")?.bind().await?)
}

async fn send(path: &Path) -> Result<()> {
    let store = MemStore::new();
    let mut entries: Vec<(String, Hash)> = Vec::new();
    for file in files_in(path)? {
        entries.push((name_of(&file, path)?, store.blobs().add_path(&file).await?.hash));
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

/// As sendme does it: one file per processor at a time, long files by reference.
async fn import(path: &Path, folder: &Path) -> Result<()> {
    let path = path.canonicalize()?;
    let store = FsStore::load(folder).await?;
    let at_once = std::thread::available_parallelism()?.get();
    let mut entries: Vec<(String, TempTag)> = stream::iter(files_in(&path)?)
        .map(|file| async {
            let name = name_of(&file, &path)?;
            let options = AddPathOptions { path: file, mode: ImportMode::TryReference, format: BlobFormat::Raw };
            anyhow::Ok((name, store.blobs().add_path_with_opts(options).temp_tag().await?))
        })
        .buffered_unordered(at_once)
        .try_collect()
        .await?;
    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
    let collection: Collection = entries.iter().map(|(name, tag)| (name.clone(), tag.hash())).collect();
    let stored = collection.store(&store).await?;
    store.tags().create(stored.hash_and_format()).await?;
    store.shutdown().await?;
    println!("{}", stored.hash());
    Ok(())
}

/// A path from where its folder is, as the name in a collection.
fn name_of(file: &Path, path: &Path) -> Result<String> {
    let parent = path.parent().context("the path has no parent")?;
    Ok(file.strip_prefix(parent)?.to_str().context("a name that is not UTF-8")?.to_owned())
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
