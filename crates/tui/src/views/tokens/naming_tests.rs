//! `/` finds a token by symbol, name, address or part of it.

use super::*;
use crate::views::fixture::Stage;
use load::sample;

#[test]
fn one_line_finds_a_token_however_it_is_named() {
    let tokens = "token_address,symbol,name,chain\n0x1f9840a85d5af5bf1d1762f925bdaddc4201f984,UNI,Uniswap,eth\n\
                  0x2f98000000000000000000000000000000000001,UNI,Copy of it,base\n0xdac17f958d2ee523a2206206994597c13d831ec7,USDT,Tether USD,eth\n";
    let stage = Stage::new(Some(sample::dataset(&[("tokens", tokens)])));
    let unloaded = Stage::empty();
    for (text, found) in [
        ("0x1f9840a85d5af5bf1d1762f925bdaddc4201f984", 1),
        ("0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984", 1),
        ("0X1F9840A85D5AF5BF1D1762F925BDADDC4201F984", 1),
        ("0x1f98", 1),
        ("1F9840", 1),
        ("c4201f984", 1),
        ("0x1f98…f984", 1),
        ("$UNI", 2),
        ("$usdt", 1),
        ("UNI@base", 1),
        ("$uni@eth", 1),
        ("Uniswap", 1),
        ("uni", 2),
        ("\"tether usd\"", 1),
        ("address:$USDT", 1),
        ("address:UNI@eth", 1),
        ("address!=UNI@eth", 2),
        ("address in (UNI@eth, Tether)", 0),
        ("address in (UNI@eth, USDT)", 2),
        ("$NOPE", 0),
        ("0x9999", 0),
        ("UNI@polygon", 0),
    ] {
        let mut view = TokensView::default();
        stage.draw(&mut view, 140, 38);
        let Ok(()) = view.set_filter(text, &stage.context()) else {
            assert_eq!(found, 0, "{text}");
            continue;
        };
        stage.draw(&mut view, 140, 38);
        assert_eq!(view.list.len(), found, "{text}");
        // Kept between runs, it is read before there are data to name tokens.
        let mut again = TokensView::default();
        again.restore(&view.save());
        unloaded.draw(&mut again, 140, 38);
        again.name_again(&stage.context());
        stage.draw(&mut again, 140, 38);
        assert_eq!(again.list.len(), found, "{text}, restored");
    }
    let mut view = TokensView::default();
    let refused = |view: &mut TokensView, text: &str| {
        view.set_filter(text, &stage.context())
            .expect_err(text)
            .to_string()
    };
    assert!(refused(&mut view, "address:UNI").contains("`UNI@eth` (0x1f98"));
    assert!(refused(&mut view, "address:USDTT").ends_with("Did you mean `USDT`?"));
}
