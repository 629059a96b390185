//! How fast are the crates bao and bao-tree? Everything is in memory and on one thread, and beside each call stands blake3::hash of the bytes
//! that it goes over, taken in the same rounds.
//!
//!     cargo run --release -- GROUP SIZE [--quick]
//!
//! GROUP is outboard, encode, verify, slice or all; SIZE is in MiB. Prints JSON: nanoseconds per call, medians and all rounds.

mod measure;

use std::io::{Cursor, Read};

use bao_tree::io::outboard::{PostOrderMemOutboard, PreOrderMemOutboard};
use bao_tree::io::sync::{encode_ranges, encode_ranges_validated, DecodeResponseIter};
use bao_tree::io::BaoContentItem;
use bao_tree::{BlockSize, ChunkNum, ChunkRanges};
use measure::{Effort, Report};

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;
const GROUP_LOGS: [u8; 2] = [0, 4];
const SLICE_LENS: [usize; 3] = [KIB, 64 * KIB, MIB];
/// A chunk boundary in the midst of a chunk group: the same as in ../verify.js and ../slice.js.
const SLICE_START: usize = 4883 * KIB;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let is_quick = args.iter().any(|arg| arg == "--quick");
    let [group, size] = &args.iter().filter(|arg| !arg.starts_with("--")).collect::<Vec<_>>()[..] else {
        fail("two arguments expected: outboard, encode, verify, slice or all, and MiB");
    };
    let size = match size.parse::<usize>() {
        Ok(size @ 6..=1024) => size * MIB,
        _ => fail("6 to 1024 MiB expected"),
    };

    let blob = random_bytes(size);
    let mut report = Report::new(if is_quick { Effort::QUICK } else { Effort::FULL });
    match group.as_str() {
        "outboard" => outboards(&blob, &mut report),
        "encode" => encodings(&blob, &mut report),
        "verify" => verification(&blob, &mut report),
        "slice" => slices(&blob, &mut report),
        "all" => {
            outboards(&blob, &mut report);
            encodings(&blob, &mut report);
            verification(&blob, &mut report);
            slices(&blob, &mut report);
        }
        _ => fail("no such group"),
    }
    println!("{}", report.json());
}

fn fail(message: &str) -> ! {
    eprintln!("{message}");
    std::process::exit(2)
}

fn outboards(blob: &[u8], report: &mut Report) {
    report.case("bao", "outboard", Some(0), blob, || bao::encode::outboard(blob).0.len());
    for log in GROUP_LOGS {
        let group = BlockSize::from_chunk_log(log);
        assert_eq!(PreOrderMemOutboard::create(blob, group).root, blake3::hash(blob));
        report.case("bao-tree", "outboard pre", Some(log), blob, || PreOrderMemOutboard::create(blob, group).data.len());
        report.case("bao-tree", "outboard post", Some(log), blob, || PostOrderMemOutboard::create(blob, group).data.len());
    }
}

fn encodings(blob: &[u8], report: &mut Report) {
    report.case("bao", "combined", Some(0), blob, || bao::encode::encode(blob).0.len());
    for log in GROUP_LOGS {
        let outboard = PreOrderMemOutboard::create(blob, BlockSize::from_chunk_log(log));
        let all = ChunkRanges::all();
        let len = whole_len(blob, &outboard);
        report.case("bao-tree", "validated", Some(log), blob, || {
            let mut out = Vec::with_capacity(len);
            encode_ranges_validated(blob, &outboard, &all, &mut out).unwrap();
            out.len()
        });
        report.case("bao-tree", "not validated", Some(log), blob, || {
            let mut out = Vec::with_capacity(len);
            encode_ranges(blob, &outboard, &all, &mut out).unwrap();
            out.len()
        });
    }
}

fn whole_len(blob: &[u8], outboard: &PreOrderMemOutboard) -> usize {
    blob.len() + outboard.data.len()
}

fn verification(blob: &[u8], report: &mut Report) {
    let (encoded, root) = bao::encode::encode(blob);
    let mut buffer = vec![0; 64 * KIB];
    let mut decoded = Vec::new();
    bao::decode::Decoder::new(&*encoded, &root).read_to_end(&mut decoded).unwrap();
    assert!(decoded == blob);
    report.case("bao", "whole", Some(0), blob, || drain(bao::decode::Decoder::new(&*encoded, &root), &mut buffer));

    for log in GROUP_LOGS {
        let outboard = PreOrderMemOutboard::create(blob, BlockSize::from_chunk_log(log));
        let all = ChunkRanges::all();
        let mut encoded = Vec::with_capacity(whole_len(blob, &outboard));
        encode_ranges_validated(blob, &outboard, &all, &mut encoded).unwrap();
        assert!(leaves(&outboard, &encoded, &all).concat() == blob);
        report.case("bao-tree", "whole", Some(log), blob, || verified(&outboard, &encoded, &all));
    }
}

fn slices(blob: &[u8], report: &mut Report) {
    for len in SLICE_LENS {
        let wanted = &blob[SLICE_START..][..len];
        bao_slices(blob, wanted, report);
        for log in GROUP_LOGS {
            bao_tree_slices(blob, wanted, log, report);
        }
    }
}

fn bao_slices(blob: &[u8], wanted: &[u8], report: &mut Report) {
    let (outboard, root) = bao::encode::outboard(blob);
    let (start, len) = (SLICE_START as u64, wanted.len() as u64);
    let extract = || {
        let mut out = Vec::new();
        let (blob, outboard) = (Cursor::new(blob), Cursor::new(&outboard));
        bao::encode::SliceExtractor::new_outboard(blob, outboard, start, len).read_to_end(&mut out).unwrap();
        out
    };
    let slice = extract();
    let mut decoded = Vec::new();
    bao::decode::SliceDecoder::new(&*slice, &root, start, len).read_to_end(&mut decoded).unwrap();
    assert!(decoded == wanted);

    let mut buffer = vec![0; 64 * KIB];
    report.case("bao", "extract, not validated", Some(0), wanted, || extract().len());
    report.case("bao", "verify", Some(0), wanted, || drain(bao::decode::SliceDecoder::new(&*slice, &root, start, len), &mut buffer));
}

fn bao_tree_slices(blob: &[u8], wanted: &[u8], log: u8, report: &mut Report) {
    let outboard = PreOrderMemOutboard::create(blob, BlockSize::from_chunk_log(log));
    let chunk = |byte: usize| ChunkNum((byte / KIB) as u64);
    let ranges = ChunkRanges::from(chunk(SLICE_START)..chunk(SLICE_START + wanted.len()));
    let extract = || {
        let mut out = Vec::new();
        encode_ranges_validated(blob, &outboard, &ranges, &mut out).unwrap();
        out
    };
    let slice = extract();
    assert!(leaves(&outboard, &slice, &ranges).concat() == wanted);

    report.case("bao-tree", "extract", Some(log), wanted, || extract().len());
    report.case("bao-tree", "extract, not validated", Some(log), wanted, || {
        let mut out = Vec::new();
        encode_ranges(blob, &outboard, &ranges, &mut out).unwrap();
        out.len()
    });
    report.case("bao-tree", "verify", Some(log), wanted, || verified(&outboard, &slice, &ranges));
}

/// What a stream's reader does: bytes are looked at and let go.
fn drain(mut reader: impl Read, buffer: &mut [u8]) -> usize {
    let mut len = 0;
    loop {
        match reader.read(buffer).unwrap() {
            0 => return len,
            n => len += n,
        }
    }
}

/// The same of a response; how many bytes were verified.
fn verified(outboard: &PreOrderMemOutboard, encoded: &[u8], ranges: &ChunkRanges) -> usize {
    DecodeResponseIter::new(outboard.root, outboard.tree, encoded, ranges)
        .map(|item| match item.unwrap() {
            BaoContentItem::Leaf(leaf) => leaf.data.len(),
            BaoContentItem::Parent(_) => 0,
        })
        .sum()
}

fn leaves(outboard: &PreOrderMemOutboard, encoded: &[u8], ranges: &ChunkRanges) -> Vec<Vec<u8>> {
    DecodeResponseIter::new(outboard.root, outboard.tree, encoded, ranges)
        .filter_map(|item| match item.unwrap() {
            BaoContentItem::Leaf(leaf) => Some(leaf.data.to_vec()),
            BaoContentItem::Parent(_) => None,
        })
        .collect()
}

/// Bytes without structure (xorshift): nothing measured here may depend on contents.
fn random_bytes(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes = Vec::with_capacity(len);
    while bytes.len() < len {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes
}
