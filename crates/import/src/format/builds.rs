//! Build files of Truffle, Hardhat, Foundry and Brownie. Their `bytecode` is the creation code; the runtime code is `deployedBytecode`.

use super::{
    super::{
        outline::OutlineNode,
        refusal::{ADDRESS, Refusal},
        report::few,
        rows::GeneratedRows,
        sniff::Sniffed,
    },
    FileToImport, ImportPlan, ImportedTable,
};
use model::address::Address;

/// Paths of the runtime and creation bytecode in build files.
const RUNTIME: &[&str] = &[
    "deployedBytecode.object",
    "deployedBytecode",
    "evm.deployedBytecode.object",
    "runtimeBytecode",
    "data.deployedBytecode.object",
];
const CREATION: &[&str] = &[
    "bytecode.object",
    "bytecode",
    "evm.bytecode.object",
    "data.bytecode.object",
];

fn text<'l>(sniffed: &'l Sniffed, places: &[&str]) -> Option<&'l str> {
    let outline = sniffed.outline()?;
    places.iter().find_map(|place| outline.text(place))
}

pub(super) fn is(sniffed: &Sniffed) -> bool {
    let Some(outline) = sniffed.outline() else {
        return false;
    };
    let abi = matches!(
        outline.node("abi"),
        Some(OutlineNode::List(_) | OutlineNode::Text(_))
    ) || outline.node("compilerOutput.abi").is_some();
    abi && (text(sniffed, RUNTIME).is_some() || text(sniffed, CREATION).is_some())
}

pub(super) fn open(file: &FileToImport<'_>) -> Result<ImportPlan, Refusal> {
    let sniffed = file.sniffed;
    let (runtime, creation) = (text(sniffed, RUNTIME), text(sniffed, CREATION));
    let hex = |code: &str| format!("0x{}", code.trim_start_matches("0x"));
    let filled = |code: Option<&str>| code.map(hex).filter(|code| code.len() > 2);
    let (runtime, creation) = (filled(runtime), filled(creation));
    if runtime.is_none() && creation.is_none() {
        return Err(
            "is the build file of an interface or an abstract contract, which has no code".into(),
        );
    }
    if let Some(code) = [&runtime, &creation]
        .into_iter()
        .flatten()
        .find(|code| !code[2..].bytes().all(|digit| digit.is_ascii_hexdigit()))
    {
        let at = code[2..]
            .bytes()
            .position(|digit| !digit.is_ascii_hexdigit())
            .unwrap_or_default()
            + 2;
        let place: String = code.chars().skip(at).take(40).collect();
        return Err(format!(
            "is the build file of a contract that is not linked yet: its code has the placeholder `{place}` for a library; link it \
             first"
        )
        .into());
    }
    let mut plan = ImportPlan::default();
    let deployed = deployed(sniffed);
    let token = match (&deployed[..], file.hints.token) {
        ([one], None) => {
            plan = plan.saying(format!("token {one}, from the file"));
            *one
        }
        (_, Some(said)) => {
            plan = plan.saying(format!("token {said}, from --token"));
            said
        }
        ([], None) => {
            let reason = "is a contract's build file that does not name a deployment address; pass --token ADDRESS";
            return Err(Refusal::new(reason).say("token", ADDRESS));
        }
        (several, None) => {
            return Err(Refusal::new(format!(
                "is about a contract deployed {} times ({}); choose one with --token ADDRESS",
                several.len(),
                few(several, 4)
            ))
            .say("token", ADDRESS));
        }
    };
    if runtime
        .as_deref()
        .is_some_and(|code| code.contains(&"0".repeat(64)))
    {
        plan = plan.saying("immutables are zeros in a build file's runtime code, so it doesn't equal any on-chain code");
    }
    let row = vec![Some(token.to_string()), runtime, creation];
    let rows = GeneratedRows::of(
        &["token_address", "bytecode", "creation_bytecode"],
        sniffed.bytes,
        vec![row],
    );
    plan.takes.push(ImportedTable::into("contracts", rows));
    Ok(plan)
}

/// The contract's deployment addresses stated in the file.
fn deployed(sniffed: &Sniffed) -> Vec<Address> {
    let Some(outline) = sniffed.outline() else {
        return Vec::new();
    };
    let mut found: Vec<Address> = outline
        .places()
        .filter(|place| {
            *place == "address"
                || *place == "deployment.address"
                || place.starts_with("networks.") && place.ends_with(".address")
        })
        .filter_map(|place| outline.text(place).and_then(Address::parse))
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}
