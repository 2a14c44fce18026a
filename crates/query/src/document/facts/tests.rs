//! The facts of a report, also with missing or odd parts.

use serde_json::json;

use super::*;
use crate::document::{Document, DocumentForm};

fn document(report: &Value, extras: &Extras) -> Document {
    let sections = list(&report["tokens"]).iter().flat_map(|one| token(one, extras.clone())).collect();
    Document { title: "Report".to_owned(), note: String::new(), sections, provenance: None }
}

fn report() -> Value {
    json!({"tokens": [{
        "token_address": "0x1f98",
        "token": {"symbol": "UNI", "name": "Uniswap", "price": 7.31, "market_cap": 4.4e9, "top_posts": [
            {"published_at": "2026-10-31T07:05:41Z", "title": "Audit report", "engagement": 7729}]},
        "trendline": {"trend": "sideways", "confidence": 0.5, "trendlines": [
            {"type": "support", "strength": "weak", "slope": -0.01, "intercept": 7.0, "endPrice": 6.87, "touches": [1, 2]}]},
        "patterns": {"recommendedAction": "strong_sell", "patterns": [
            {"name": "head_and_shoulders", "confidence": 0.66, "completionPercent": 100.0, "projectedMovement": -12.5}]},
        "security": {"securityScore": 12, "recommendation": "AVOID: sells fail", "anomalyDetection": {"codePatterns": {"score": 95.0}},
            "checks": [
                {"code": "SELL_TAX", "group": "can_i_sell", "state": "found", "evidence": "10 % is lost"},
                {"code": "PROXY", "group": "who_can_change_it", "state": "not_checked", "missing": "no code"},
                {"code": "OWNER_MINT", "group": "who_can_change_it", "state": "passed"}]},
        "dexes": {"error": {"detail": "No pools."}},
        "holders": null,
    }]})
}

#[test]
fn a_report_says_what_it_found_and_what_it_lacks() {
    let text = document(&report(), &Extras::default()).write(DocumentForm::Markdown);
    for says in [
        "## UNI\n\n0x1f98\n",
        "- **security**: 12 of 100 · AVOID: sells fail\n",
        "- **risk, 0–100**: code 95.0 · transfers – · holders –\n",
        "- **trend**: sideways, confidence 0.50\n",
        "| support | 6.8700 now | weak | −0.0100 a candle | 2 touches |\n",
        "## UNI\n\n0x1f98\n\nSecurity: AVOID, score 12.\n",
        "| Head and shoulders | 0.66 | – |\n",
        "### Checklist\n\n1 found · 1 not checked: data missing · 1 passed\n",
        "| ✗ | SELL\\_TAX | 10 % is lost |\n",
        "| ? | PROXY | no code |\n",
        "| 2026-10-31 | – | 7,729 | Audit report |\n",
        "### DEXes\n\nNo pools.\n",
        "### Holders\n\nnot analysed yet\n",
    ] {
        assert!(text.contains(says), "{says}\n{text}");
    }
    assert!(!text.contains("OWNER"));
    for odd in [json!({"tokens": [{}]}), json!({"tokens": [7, null, {"security": 3, "holders": {"holders": {}}}]})] {
        for form in DocumentForm::ALL {
            assert!(!document(&odd, &Extras { card: Some(9), ..Extras::default() }).write(form).is_empty(), "{odd}");
        }
    }
}

#[test]
fn the_record_and_the_list_are_told_apart() {
    let mut report = report();
    report["tokens"][0]["patterns"] = json!({"patterns": [{
        "name": "head_and_shoulders", "confidence": 0.9, "completionPercent": 100.0, "status": "confirmed", "direction": "down",
        "breakoutPrice": 2.0, "height": 0.5}]});
    report["tokens"][0]["security"] = json!({"securityScore": 52, "recommendation": "CAUTION: a tax"});
    let none = PatternRecord::none(analysis::patterns::PatternName::HeadAndShoulders);
    let few = PatternRecord { count: 9, target: Some(1.0), ..none.clone() };
    let some = PatternRecord { count: 30, target: Some(1.0 / 3.0), random_target: Some(0.25), ..none.clone() };
    let text = |record: &PatternRecord| {
        document(&report, &Extras { card: Some(0), record: Some(record.clone()), ..Extras::default() }).write(DocumentForm::Markdown)
    };
    for says in [
        "1 pattern, found in hindsight: with all candles up to now\n",
        "- **record**: of those of this token found day by day as they formed none has ended yet\n",
        "- **height**: 0.5000 measured from the breakout\n",
    ] {
        assert!(text(&none).contains(says), "{says}\n{}", text(&none));
    }
    assert!(text(&few).contains("- **record**: too few: 9 of this token found day by day as they formed have ended\n"), "{}", text(&few));
    let says = "33 % of the 30 of this token that were found day by day as they formed and ended met their target; of any entry with the same aims 25 %";
    assert!(text(&some).contains(says), "{}", text(&some));
    // Beside a warning there is no trade card, target or stop.
    report["tokens"][0]["security"] = json!({"securityScore": 12, "recommendation": "AVOID: sells fail"});
    let warned = document(&report, &Extras { card: Some(0), record: Some(some), ..Extras::default() }).write(DocumentForm::Markdown);
    assert!(!warned.contains("rade card") && !warned.contains("target") && !warned.contains("stop"), "{warned}");
    let (warning, name) = (warned.find("Security: AVOID, score 12."), warned.find("Uniswap"));
    assert!(warning.is_some() && warning < name, "the warning stands first: {warned}");
}

#[test]
fn a_fall_by_more_than_the_price_is_not_called_measured() {
    let told = |by_log: bool| {
        let part =
            json!({"patterns": [{"direction": "down", "breakoutPrice": 0.000_010_73, "height": 0.000_075_7, "targetByLog": by_log}]});
        let section = levels::trade_card(&part, 0, None, Some("stale: so"));
        format!("{:?}", section.blocks)
    };
    assert!(told(true).contains("0.0000757, more than half of the breakout price: the target is measured on a logarithmic scale"));
    assert!(told(false).contains("0.0000757 measured from the breakout") && told(false).contains("stale: so"));
}

#[test]
fn text_of_the_dataset_never_becomes_markup() {
    let wicked = "<script>alert(1)</script> [x](http://a.b) ![i](//c.d) `c` | 'q' \"r\" &amp; www.e.f g@h.i \u{202e}\u{0}\n# T\n- l";
    let mut report = report();
    let token = &mut report["tokens"][0];
    for key in ["symbol", "name"] {
        token["token"][key] = wicked.into();
    }
    token["token"]["top_posts"][0]["title"] = wicked.into();
    token["security"]["recommendation"] = wicked.into();
    token["security"]["checks"][0]["evidence"] = wicked.into();
    token["holders"] = json!({"holders": [{"holder_address": wicked, "balance": 1.0, "labels": [wicked]}]});
    token["dexes"] = json!({"dexes": [{"name": wicked, "chainId": wicked, "bestPool": {"pair": wicked}}]});
    let mut document = document(&report, &Extras::default());
    document.title = wicked.to_owned();
    document.note = wicked.to_owned();
    let html = document.write(DocumentForm::Html);
    let tags: Vec<&str> = html.split('<').skip(1).map(|tag| tag.split(['>', ' ', '\n']).next().unwrap_or_default()).collect();
    for tag in tags {
        let known =
            "!doctype html head meta title style body header h1 h2 h3 h4 p main section small dl dt dd div table thead tbody tr th td";
        assert!(known.split(' ').any(|known| known == tag.trim_start_matches('/')), "{tag}");
    }
    assert!(html.matches("&lt;script&gt;alert(1)&lt;/script&gt;").count() >= 10, "{html}");
    assert!(!html.contains('\u{202e}') && !html.contains('\0'));
    // Anything that would load or run: the only URL in it is text.
    for loads in ["<script", "src=", "href=", "url(", "@import"] {
        assert!(!html.contains(loads), "{loads}");
    }
    let text = document.write(DocumentForm::Markdown);
    for meant in ["<script", "[x](", "![", "http://", "www.", "@", "\n# T", "\n- l", " | 'q'", " `c`"] {
        assert!(!text.contains(meant), "{meant}\n{text}");
    }
}

#[test]
fn a_text_of_the_dataset_is_cut_to_a_length() {
    let mut report = report();
    report["tokens"][0]["token"]["name"] = "a".repeat(1 << 20).into();
    assert!(document(&report, &Extras::default()).write(DocumentForm::Html).len() < 100_000);
}
