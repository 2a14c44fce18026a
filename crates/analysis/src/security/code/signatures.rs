//! Function signatures of tokens, proxies, pools and lockers from published standards and ABIs, for displaying calls by name. Selectors are
//! computed: the first four bytes of the signature's Keccak-256 hash (Solidity ABI specification). Names prove nothing, and no finding
//! depends on them.

use revm::primitives::keccak256;

use super::abi::Selector;

/// Topic or source of the signatures, and the signatures.
const SIGNATURES: &[(&str, &str)] = &[
    (
        "ERC-20 and its usual extensions; ERC-2612, ERC-3009, ERC-1363, ERC-5267",
        "name() symbol() decimals() totalSupply() balanceOf(address) allowance(address,address) transfer(address,uint256) \
         approve(address,uint256) transferFrom(address,address,uint256) increaseAllowance(address,uint256) \
         decreaseAllowance(address,uint256) increaseApproval(address,uint256) decreaseApproval(address,uint256) \
         approveAndCall(address,uint256,bytes) transferAndCall(address,uint256,bytes) transferAndCall(address,uint256) \
         transferFromAndCall(address,address,uint256,bytes) permit(address,address,uint256,uint256,uint8,bytes32,bytes32) \
         permit(address,address,uint256,uint256,bool,uint8,bytes32,bytes32) nonces(address) DOMAIN_SEPARATOR() PERMIT_TYPEHASH() \
         eip712Domain() version() transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32) \
         receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32) \
         cancelAuthorization(address,bytes32,uint8,bytes32,bytes32) authorizationState(address,bytes32) \
         multiTransfer(address[],uint256[]) batchTransfer(address[],uint256[]) batchTransfer(address[],uint256) \
         supportsInterface(bytes4)",
    ),
    (
        "minting and burning",
        "mint(address,uint256) mint(uint256) mint() mintTo(address,uint256) issue(uint256) issue(address,uint256) redeem(uint256) \
         generateTokens(address,uint256) destroyTokens(address,uint256) burn(uint256) burn(address,uint256) \
         burnFrom(address,uint256) destroy(address,uint256) finishMinting() mintingFinished() setMinter(address) addMinter(address) \
         removeMinter(address) renounceMinter() isMinter(address) minter() minters(address) configureMinter(address,uint256) \
         minterAllowance(address) masterMinter() updateMasterMinter(address) setMaxSupply(uint256) maxSupply() MAX_SUPPLY() cap() \
         bridgeMint(address,uint256) bridgeBurn(address,uint256) crosschainMint(address,uint256) crosschainBurn(address,uint256) \
         Swapin(bytes32,address,uint256) Swapout(uint256,address) assume_ownership() assume_ownership(uint256) assume_ownership(address) airdrop(address,uint256) \
         airdrop(address[],uint256[]) multisendToken(address[],uint256[]) rebase(uint256,int256) sync() deposit() withdraw(uint256) \
         withdraw() withdrawTo(address,uint256) depositTo(address) depositFor(address,uint256)",
    ),
    (
        "ownership: ERC-173, Ownable, two steps, and what imitates it",
        "owner() getOwner() transferOwnership(address) renounceOwnership() acceptOwnership() claimOwnership() pendingOwner() \
         setOwner(address) setPendingOwner(address) cancelOwnershipTransfer() isOwner() authorize(address) unauthorize(address) \
         admin() setAdmin(address) changeAdmin(address) setPendingAdmin(address) _setPendingAdmin(address) acceptAdmin() \
         _acceptAdmin() setGovernance(address) governance() setOperator(address) setOperator(address,bool) operator() \
         setController(address) controller() lock(uint256) unlock() getUnlockTime() geUnlockTime() setManager(address) kill() \
         selfDestruct() selfdestruct() close() rely(address) deny(address) wards(address) guardian() setGuardian(address)",
    ),
    (
        "AccessControl and other roles",
        "DEFAULT_ADMIN_ROLE() hasRole(bytes32,address) getRoleAdmin(bytes32) grantRole(bytes32,address) revokeRole(bytes32,address) \
         renounceRole(bytes32,address) getRoleMember(bytes32,uint256) getRoleMemberCount(bytes32) MINTER_ROLE() PAUSER_ROLE() \
         BURNER_ROLE() UPGRADER_ROLE() defaultAdmin() pendingDefaultAdmin() beginDefaultAdminTransfer(address) \
         acceptDefaultAdminTransfer() changeDefaultAdminDelay(uint48)",
    ),
    (
        "pauses and trading switches",
        "pause() unpause() paused() setPaused(bool) addPauser(address) removePauser(address) isPauser(address) renouncePauser() \
         pauser() updatePauser(address) enableTransfers(bool) disableTransfers() transfersEnabled() setTransfersEnabled(bool) \
         enableTrading() enableTrading(bool) disableTrading() openTrading() launch() setTrading(bool) setTradingEnabled(bool) \
         tradingOpen() tradingEnabled() tradingActive() start() stop() freeze() unfreeze() freezeAccount(address,bool) \
         frozenAccount(address) limitsInEffect() setCooldownEnabled(bool) transferDelayEnabled() disableTransferDelay() \
         setSwapEnabled(bool) releaseTokenTransfer()",
    ),
    (
        "lists of holders",
        "blacklist(address) unBlacklist(address) isBlacklisted(address) blacklister() updateBlacklister(address) \
         addBlackList(address) removeBlackList(address) getBlackListStatus(address) isBlackListed(address) \
         destroyBlackFunds(address) setBlacklist(address,bool) blacklistAddress(address,bool) addToBlacklist(address) \
         removeFromBlacklist(address) blacklist(address,bool) addBlacklist(address) removeBlacklist(address) setBots(address[]) \
         setBot(address,bool) delBot(address) addBots(address[]) isBot(address) blockBots(address[]) \
         manageBlacklist(address[],bool) ban(address,bool) freeze(address) unfreeze(address) freeze(address,uint256) \
         isFrozen(address) frozen(address) wipeFrozenAddress(address) seize(address) setWhitelist(address,bool) \
         addWhitelist(address) removeWhitelist(address) isWhitelisted(address) whitelist(address) whitelistAddress(address,bool) \
         allow(address,bool) banned(address)",
    ),
    (
        "taxes, limits and exemptions",
        "setFee(uint256) setFees(uint256,uint256) setFees(uint256,uint256,uint256) setTax(uint256) setTaxes(uint256,uint256) \
         setTaxFee(uint256) setTaxFeePercent(uint256) setLiquidityFeePercent(uint256) setMarketingFeePercent(uint256) \
         setBuyFee(uint256) setSellFee(uint256) setBuyTaxes(uint256,uint256,uint256) setSellTaxes(uint256,uint256,uint256) \
         updateBuyFees(uint256,uint256,uint256) updateSellFees(uint256,uint256,uint256) reduceFee(uint256) \
         setParams(uint256,uint256) basisPointsRate() maximumFee() buyFee() sellFee() buyTax() sellTax() taxFee() _taxFee() \
         liquidityFee() _liquidityFee() marketingFee() totalFee() totalFees() buyTotalFees() sellTotalFees() \
         excludeFromFee(address) includeInFee(address) isExcludedFromFee(address) excludeFromFees(address,bool) \
         isExcludedFromFees(address) setIsFeeExempt(address,bool) isFeeExempt(address) excludeFromReward(address) \
         includeInReward(address) isExcludedFromReward(address) excludeFromDividends(address) setIsDividendExempt(address,bool) \
         setIsTxLimitExempt(address,bool) isTxLimitExempt(address) setMaxTxAmount(uint256) setMaxTxPercent(uint256) \
         setMaxTx(uint256) setTxLimit(uint256) setMaxWallet(uint256) setMaxWalletAmount(uint256) setMaxWalletSize(uint256) \
         updateMaxTxnAmount(uint256) updateMaxWalletAmount(uint256) excludeFromMaxTransaction(address,bool) \
         _isExcludedMaxTransactionAmount(address) removeLimits() _maxTxAmount() maxTransactionAmount() maxWallet() _maxWalletSize() \
         maxTxAmount() setRule(bool,address,uint256,uint256) setMarketingWallet(address) updateMarketingWallet(address) \
         setDevWallet(address) updateDevWallet(address) setFeeTo(address) setFeeToSetter(address) feeTo() feeToSetter() \
         marketingWallet() setSwapBackSettings(bool,uint256) setSwapTokensAtAmount(uint256) updateSwapTokensAtAmount(uint256) \
         swapTokensAtAmount() setSwapAndLiquifyEnabled(bool) swapAndLiquifyEnabled() setNumTokensSellToAddToLiquidity(uint256) \
         setAutomatedMarketMakerPair(address,bool) automatedMarketMakerPairs(address) pair() uniswapV2Pair() uniswapV2Router() \
         setRouterAddress(address) updateUniswapV2Router(address) manualSwap() manualswap() manualSend() manualsend() swapBack() \
         reflectionFromToken(uint256,bool) tokenFromReflection(uint256) deliver(uint256)",
    ),
    (
        "rescues",
        "rescueTokens(address,uint256) rescueToken(address,uint256) rescueERC20(address,address,uint256) rescueETH() \
         recoverERC20(address,uint256) recoverToken(address,uint256) withdrawToken(address,uint256) withdrawTokens(address) \
         withdrawERC20(address,uint256) withdrawETH() withdrawStuckETH() withdrawStuckToken(address,address) \
         withdrawStuckTokens(address,uint256) clearStuckBalance(uint256) clearStuckToken(address,uint256) \
         transferForeignToken(address,address) transferAnyERC20Token(address,uint256) sweep(address) reclaimToken(address) \
         reclaimEther() reclaimContract(address) claimTokens(address) claimStuckTokens(address) emergencyWithdraw()",
    ),
    (
        "proxies and execution: ERC-1967, ERC-1822, ERC-2535, ERC-897, Safe",
        "implementation() upgradeTo(address) upgradeToAndCall(address,bytes) changeProxyAdmin(address,address) \
         getProxyAdmin(address) getProxyImplementation(address) upgrade(address,address) upgradeAndCall(address,address,bytes) \
         proxiableUUID() masterCopy() initialize() initialize(address) initialize(bytes) initialize(string,string) \
         initialize(string,string,uint8) initialize(address,address,bytes) UPGRADE_INTERFACE_VERSION() beacon() deprecate(address) \
         deprecated() upgradedAddress() diamondCut((address,uint8,bytes4[])[],address,bytes) facets() facetAddress(bytes4) \
         facetAddresses() facetFunctionSelectors(address) execute(address,uint256,bytes) execute(address,bytes) multicall(bytes[]) \
         multicall(uint256,bytes[]) aggregate((address,bytes)[]) \
         setup(address[],uint256,address,bytes,address,address,uint256,address)",
    ),
    (
        "votes, snapshots, dividends: Compound, ERC20Votes",
        "delegate(address) delegateBySig(address,uint256,uint256,uint8,bytes32,bytes32) delegates(address) getVotes(address) \
         getPastVotes(address,uint256) getPastTotalSupply(uint256) getCurrentVotes(address) getPriorVotes(address,uint256) \
         numCheckpoints(address) checkpoints(address,uint32) clock() CLOCK_MODE() snapshot() balanceOfAt(address,uint256) \
         totalSupplyAt(uint256) claimDividend() withdrawDividend() dividendOf(address) distributeDividends() \
         updateClaimWait(uint256)",
    ),
    (
        "pools, factories and routers: Uniswap V2 and V3, Curve; ERC-4626 vaults",
        "token0() token1() getReserves() price0CumulativeLast() price1CumulativeLast() kLast() MINIMUM_LIQUIDITY() factory() \
         skim(address) swap(uint256,uint256,address,bytes) swap(address,bool,int256,uint160,bytes) slot0() liquidity() \
         flash(address,uint256,uint256,bytes) collect(address,int24,int24,uint128,uint128) observe(uint32[]) positions(uint256) \
         tickSpacing() createPair(address,address) getPair(address,address) allPairs(uint256) allPairsLength() \
         createPool(address,address,uint24) getPool(address,address,uint24) WETH() \
         addLiquidity(address,address,uint256,uint256,uint256,uint256,address,uint256) \
         addLiquidityETH(address,uint256,uint256,uint256,address,uint256) \
         removeLiquidity(address,address,uint256,uint256,uint256,address,uint256) \
         removeLiquidityETH(address,uint256,uint256,uint256,address,uint256) \
         swapExactTokensForTokens(uint256,uint256,address[],address,uint256) \
         swapExactETHForTokens(uint256,address[],address,uint256) swapExactTokensForETH(uint256,uint256,address[],address,uint256) \
         swapExactTokensForETHSupportingFeeOnTransferTokens(uint256,uint256,address[],address,uint256) \
         getAmountsOut(uint256,address[]) exchange(int128,int128,uint256,uint256) get_virtual_price() coins(uint256) \
         balances(uint256) asset() totalAssets() convertToShares(uint256) convertToAssets(uint256) previewDeposit(uint256) \
         previewRedeem(uint256) deposit(uint256,address) mint(uint256,address) withdraw(uint256,address,address) \
         redeem(uint256,address,address) maxDeposit(address) maxWithdraw(address)",
    ),
    (
        "lockers and vesting",
        "lockTokens(address,uint256,uint256) lockLPToken(address,uint256,uint256,address,bool,address) \
         lock(address,uint256,uint256) lock(address,address,bool,uint256,uint256,string) unlockTime() releaseTime() beneficiary() \
         vestedAmount(address) vestedAmount(address,uint64) releasable() releasable(address) release(address) revoke(address) \
         revocable() cliff() duration() relock(address,uint256,uint256,uint256) transferLockOwnership(uint256,address)",
    ),
    (
        "sales, and what drainers have people call",
        "buy() sell(uint256) buyTokens(address) buyPrice() sellPrice() setPrices(uint256,uint256) Approve(address,uint256) \
         approver() security(address) SecurityUpdate() Claim()",
    ),
];

fn signatures() -> impl Iterator<Item = &'static str> {
    SIGNATURES.iter().flat_map(|(_, list)| list.split_whitespace())
}

fn selector(signature: &str) -> Selector {
    let hash = keccak256(signature);
    [hash[0], hash[1], hash[2], hash[3]]
}

/// Published name of the function with this selector, without arguments; `None` if unknown. Takes a tenth of a millisecond: for many
/// look-ups, use `SelectorNames`.
pub(super) fn name(wanted: Selector) -> Option<&'static str> {
    signatures().find(|signature| selector(signature) == wanted).map(name_of)
}

fn name_of(signature: &'static str) -> &'static str {
    signature.split('(').next().unwrap_or_default()
}

/// Selectors in ascending order with their function names, each hashed once.
pub(super) struct SelectorNames(Vec<(Selector, &'static str)>);

impl SelectorNames {
    pub(super) fn new() -> Self {
        let mut names: Vec<_> = signatures().map(|signature| (selector(signature), name_of(signature))).collect();
        names.sort_unstable();
        Self(names)
    }

    /// As the function `name`.
    pub(super) fn of(&self, wanted: Selector) -> Option<&'static str> {
        self.0.binary_search_by_key(&wanted, |(selector, _)| *selector).ok().map(|at| self.0[at].1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use demo::contracts::{Contract, contracts};

    #[test]
    fn selectors_are_the_published_ones() {
        // From the standards' texts and block explorers.
        for (selector, name_of) in [
            (0xa905_9cbb, "transfer"),
            (0x23b8_72dd, "transferFrom"),
            (0x095e_a7b3, "approve"),
            (0x70a0_8231, "balanceOf"),
            (0x1816_0ddd, "totalSupply"),
            (0xdd62_ed3e, "allowance"),
            (0x40c1_0f19, "mint"),
            (0x4296_6c68, "burn"),
            (0x79cc_6790, "burnFrom"),
            (0x8da5_cb5b, "owner"),
            (0xf2fd_e38b, "transferOwnership"),
            (0x7150_18a6, "renounceOwnership"),
            (0xd505_accf, "permit"),
            (0x3659_cfe6, "upgradeTo"),
            (0x4f1e_f286, "upgradeToAndCall"),
            (0x5c60_da1b, "implementation"),
            (0x8456_cb59, "pause"),
            (0x0902_f1ac, "getReserves"),
            (0xc9c6_5396, "createPair"),
            (0x0ecb_93c0, "addBlackList"),
            (0x2f2f_f15d, "grantRole"),
        ] {
            assert_eq!(name(u32::to_be_bytes(selector)), Some(name_of), "{selector:08x}");
        }
        assert_eq!(name([0xDE, 0xAD, 0xBE, 0xEF]), None);
        let names = SelectorNames::new();
        for wanted in signatures().map(selector).chain([[0xDE, 0xAD, 0xBE, 0xEF]]) {
            assert_eq!(names.of(wanted), name(wanted));
        }
        for signature in contracts().flat_map(Contract::functions) {
            // Functions invented for the demo contracts have no published name.
            let named = name(selector(signature));
            assert!(named.is_none() || named == signature.split('(').next(), "{signature}");
        }
    }

    #[test]
    fn every_signature_is_one_and_stands_for_itself_alone() {
        let mut seen: BTreeMap<Selector, &str> = BTreeMap::new();
        for signature in signatures() {
            let (name, rest) = signature.split_once('(').unwrap_or_default();
            let plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "_,[]()".contains(c));
            assert!(!name.is_empty() && rest.ends_with(')') && plain(signature), "{signature}");
            assert_eq!(rest.matches(')').count(), rest.matches('(').count() + 1, "{signature}");
            // Canonical types only: `uint` would give another selector.
            let types = ["address", "bool", "string", "bytes", "uint", "int", "bytes4", "bytes32"];
            for word in rest.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
                let kind = word.trim_end_matches(|c: char| c.is_ascii_digit());
                let sized = word.len() > kind.len();
                assert!(types.contains(&kind) && (sized || !["uint", "int"].contains(&word)), "{signature}: {word}");
            }
            if let Some(other) = seen.insert(selector(signature), signature) {
                panic!("{signature} and {other} are one");
            }
        }
        assert!((300..=500).contains(&seen.len()), "{}", seen.len());
    }
}
