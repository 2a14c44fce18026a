//! The facts of a report, also with missing or odd parts.

use serde_json::json;

use super::*;
use crate::document::{Document, DocumentForm};
use analysis::track_record::errors::Evidence;

fn document(report: &Value, extras: &Extras) -> Document {
    let sections = list(&report["tokens"])
        .iter()
        .flat_map(|one| token(one, extras.clone()))
        .collect();
    Document {
        title: "Report".to_owned(),
        note: String::new(),
        sections,
        provenance: None,
    }
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
                {"code": "SELL_TAX", "group": "can_i_sell", "state": "found", "evidence": "10% tax on a sell"},
                {"code": "PROXY", "group": "who_can_change_it", "state": "not_checked", "missing": "no code"},
                {"code": "OWNER_MINT", "group": "who_can_change_it", "state": "passed"}]},
        "dexes": {"error": {"detail": "No pools."}},
        "holders": null,
    }]})
}

/// A finished report of a sound token, and its market values.
fn whole() -> Value {
    let passed = |code: &str| json!({"code": code, "group": "can_i_sell", "state": "passed"});
    json!({
        "token_address": "0x1f9840a85d5af5bf1d1762f925bdaddc4201f984",
        "token": {"symbol": "UNI", "name": "Uniswap", "price": 7.92, "market_cap": 7.92e9, "top_posts": [{"title": "Audit report"}]},
        "trendline": {"trend": "downtrend", "confidence": 0.5, "trendlines": []},
        "patterns": {"patterns": [], "advice": {"word": "watch", "text": "no track record yet"}},
        "security": {"securityScore": 97, "recommendation": "NO MAJOR RISK FOUND: no check found anything",
            "checks": [passed("SELL_BLOCKED"), passed("SELL_TAX"), passed("OWNER_MINT"), passed("PROXY")]},
        "dexes": {"dexes": [{"name": "Uniswap v3"}]},
        "holders": {"holders": [{"holder_address": "0x01", "balance": 1.0}]},
        "market": {"chains": ["eth"], "created_at": "2020-09-14T00:00:00Z", "as_of": "2026-11-14T23:00:00Z", "holders": 148_978,
            "price_change_24h": -3.25, "price_change_7d": 4.0, "price_change_30d": -14.4, "price_change_90d": 1234.5,
            "holders_growth": -1.04, "holders_growth_30d": 2.0, "holders_growth_90d": null,
            "volume_24h": 3.18e8, "liquidity": 2.75e8, "rsi_14": 32.9, "from_52w_high": -56.2},
    })
}

fn failed(detail: &str) -> Value {
    json!({"error": {"detail": detail}})
}

#[test]
#[expect(
    clippy::too_many_lines,
    clippy::type_complexity,
    reason = "one table of cases"
)]
fn the_summary_has_five_sentences_and_says_what_is_missing() {
    const SOUND: [&str; 5] = [
        "Uniswap (UNI) is a token on Ethereum, created on 2020-09-14, with a price of $7.9200, a market cap of $7.92B and 148,978 holders.",
        "The security verdict is NO MAJOR RISK FOUND with a score of 97 out of 100, and the chart advice is “watch”: no track record yet.",
        "The price changed by −3.2% in 24 hours, +4.0% in 7 days, −14.4% in 30 days and +1,234.5% in 90 days; the number of holders changed \
         by −1.0% in 7 days; the trend is down.",
        "No security check found a risk.",
        "The data covers every part of this report.",
    ];
    type Change = fn(&mut Value, &mut Extras);
    // What differs from a sound token, and the sentences that differ by it.
    let cases: [(&str, Change, &[(usize, &str)]); 10] = [
        ("a sound token", |_, _| {}, &[]),
        (
            "no security data",
            |token, _| token["security"] = failed("No security data for the token."),
            &[
                (
                    1,
                    "There is no security verdict, and the chart advice is “watch”: no track record yet.",
                ),
                (3, "No security check has run, so no risk could be found."),
                (4, "The data does not cover the security of the contract."),
            ],
        ),
        (
            "a token to avoid",
            |token, _| {
                token["security"]["securityScore"] = 12.into();
                token["security"]["recommendation"] = "AVOID: sells fail".into();
                token["security"]["checks"][0]["state"] = "found".into();
                token["security"]["checks"][1]["state"] = "found".into();
                token["security"]["checks"][2]["state"] = "not_checked".into();
                token["patterns"] = json!({"patterns": [], "recommendedAction": "strong_sell"});
            },
            &[
                (
                    1,
                    "The security verdict is AVOID with a score of 12 out of 100, and the chart advice is “strong sell”.",
                ),
                (
                    3,
                    "2 security checks found a risk: bought tokens cannot be sold (honeypot); sells are taxed.",
                ),
                (
                    4,
                    "1 of 4 security checks gave no result; see the Security section for the reasons.",
                ),
            ],
        ),
        (
            "many risks, and too little data for a score",
            |token, _| {
                token["security"]["recommendation"] = "NOT ENOUGH DATA: unknown".into();
                for check in token["security"]["checks"]
                    .as_array_mut()
                    .into_iter()
                    .flatten()
                {
                    check["state"] = "found".into();
                }
            },
            &[
                (
                    1,
                    "There is not enough data for a security verdict, and the chart advice is “watch”: no track record yet.",
                ),
                (
                    3,
                    "4 security checks found risks, including: bought tokens cannot be sold (honeypot); sells are taxed; its code can be \
                     replaced (proxy).",
                ),
            ],
        ),
        (
            "no candles",
            |token, _| {
                (token["trendline"], token["patterns"]) =
                    (failed("No candles."), failed("No candles."));
                for key in [
                    "as_of",
                    "price_change_24h",
                    "price_change_7d",
                    "price_change_30d",
                    "price_change_90d",
                    "holders_growth",
                ] {
                    token["market"][key] = Value::Null;
                }
            },
            &[
                (
                    1,
                    "The security verdict is NO MAJOR RISK FOUND with a score of 97 out of 100, and there is no chart advice.",
                ),
                (2, "No price or holder change is known."),
                (
                    4,
                    "The data does not cover the price change in 24 hours, 7 days, 30 days and 90 days.",
                ),
            ],
        ),
        (
            "a short history",
            |token, _| token["market"]["price_change_90d"] = Value::Null,
            &[
                (
                    2,
                    "The price changed by −3.2% in 24 hours, +4.0% in 7 days and −14.4% in 30 days; the number of holders changed by −1.0% in \
                     7 days; the trend is down.",
                ),
                (4, "The data does not cover the price change in 90 days."),
            ],
        ),
        (
            "stale candles",
            |token, extras| {
                extras.stale = Some(
                    "the last candle started 2026-10-09, 5w behind the other 1d candles".to_owned(),
                );
                for key in [
                    "price_change_24h",
                    "price_change_7d",
                    "price_change_30d",
                    "price_change_90d",
                ] {
                    token["market"][key] = Value::Null;
                }
            },
            &[(
                2,
                "No recent price change is known: the last candle started 2026-10-09, 5w behind the other 1d candles; the number of holders \
                 changed by −1.0% in 7 days; the trend is down.",
            )],
        ),
        (
            "no posts, holders and markets",
            |token, extras| {
                token["token"]["top_posts"] = json!([]);
                (token["holders"], token["dexes"]) = (json!({"holders": []}), failed("No pools."));
                extras.no_posts = Some("The data has no `posts` table.".to_owned());
            },
            &[(
                4,
                "The data does not cover the largest holders, the markets where it trades or posts about it.",
            )],
        ),
        (
            "a token of which little is known",
            |token, _| {
                token["token"] = json!({"symbol": "UNI", "top_posts": [{"title": "Audit report"}]});
                (token["market"]["chains"], token["market"]["created_at"]) =
                    (json!([]), Value::Null);
                token["market"]["holders"] = Value::Null;
                token["security"]["checks"][0]["state"] = "not_checked".into();
            },
            &[
                (0, "UNI is a token."),
                (3, "No security check that could run found a risk."),
                (
                    4,
                    "The data does not cover the price, the market cap or the number of holders, and 1 of 4 security checks gave no result.",
                ),
            ],
        ),
        (
            "an analysis that has just begun",
            |token, _| {
                *token = json!({"token_address": "0x1f9840a85d5af5bf1d1762f925bdaddc4201f984"});
            },
            &[
                (0, "0x1f98…f984 is a token."),
                (
                    1,
                    "The security checks have not run yet, and there is no chart advice.",
                ),
                (2, "No price or holder change is known."),
                (3, "No security check has run, so no risk could be found."),
                (
                    4,
                    "The analysis is not complete, so parts of this report are missing.",
                ),
            ],
        ),
    ];
    for (case, change, differing) in cases {
        let (mut token, mut extras, mut expected) = (whole(), Extras::default(), SOUND);
        change(&mut token, &mut extras);
        for (nth, sentence) in differing {
            expected[*nth] = sentence;
        }
        let blocks = summary::section(&token, &extras).blocks;
        let sentences: Vec<&str> = blocks
            .iter()
            .filter_map(|block| {
                if let Block::Sentence(styled) = block {
                    Some(styled.text.as_str())
                } else {
                    None
                }
            })
            .collect();
        assert_eq!(sentences, expected, "{case}");
    }
}

#[test]
fn a_coin_is_called_one_and_a_missing_performance_has_its_reason() {
    let mut token = whole();
    token["token_address"] = model::address::Address::coin("UNI").to_string().into();
    token["market"] = failed("The data changed after this analysis, so no performance is shown.");
    let text =
        document(&json!({"tokens": [token]}), &Extras::default()).write(DocumentForm::Markdown);
    assert!(
        text.contains("\nUniswap (UNI) is a coin without a contract, with a price of "),
        "{text}"
    );
    assert!(
        text.contains(
            "### Performance\n\nThe data changed after this analysis, so no performance is shown.\n"
        ),
        "{text}"
    );
}

#[test]
fn the_sections_have_the_order_of_a_document_in_both_forms() {
    const ORDER: [&str; 8] = [
        "Summary",
        "Performance",
        "Chart",
        "Chart patterns",
        "Security",
        "Holders",
        "Liquidity",
        "Top posts",
    ];
    let document = document(&json!({"tokens": [whole()]}), &Extras::default());
    for (form, mark) in [
        (DocumentForm::Markdown, "\n### "),
        (DocumentForm::Html, "<h3>"),
    ] {
        let text = document.write(form);
        let titles: Vec<&str> = text
            .split(mark)
            .skip(1)
            .filter_map(|rest| rest.split(['\n', '<']).next())
            .map(str::trim)
            .collect();
        assert_eq!(titles, ORDER);
        for part in [
            "24 hours",
            "90 days",
            "RSI (14 days)",
            "52-week high",
            "148,978",
            "318M",
            "275M",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}

#[test]
fn a_report_says_what_it_found_and_what_it_lacks() {
    let text = document(&report(), &Extras::default()).write(DocumentForm::Markdown);
    for says in [
        "## UNI\n\n0x1f98\n\nSecurity: AVOID, score 12.",
        "- **Score**: 12/100 · AVOID: sells fail\n",
        "- **Risk, 0–100**: code 95.0 · transfers – · holders –\n",
        "- **Trend**: sideways, confidence 0.50\n",
        "| support | 6.8700 now | weak | −0.0100 per candle | 2 touches |\n",
        "| Head and shoulders | 66% | – |\n",
        "- **Advice**: Strong sell\n\n| Pattern | Fit | Status |\n",
        "### Security\n\n1 found · 1 not checked · 1 passed\n",
        "| ✗ | Sell tax |\n|  | SELL\\_TAX · 10% tax on a sell |\n",
        "| ? | Proxy contract (not checked) |\n|  | PROXY · no code |\n",
        "| 2026-10-31 | – | 7,729 | Audit report |\n",
        "### Liquidity\n\nNo pools.\n",
        "### Holders\n\nnot analyzed yet\n",
    ] {
        assert!(text.contains(says), "{says}\n{text}");
    }
    assert!(!text.contains("OWNER"));
    for odd in [
        json!({"tokens": [{}]}),
        json!({"tokens": [7, null, {"security": 3, "holders": {"holders": {}}}]}),
    ] {
        for form in DocumentForm::ALL {
            assert!(
                !document(
                    &odd,
                    &Extras {
                        card: Some(9),
                        ..Extras::default()
                    }
                )
                .write(form)
                .is_empty(),
                "{odd}"
            );
        }
    }
}

#[test]
fn the_track_record_and_the_list_differ() {
    let mut report = report();
    report["tokens"][0]["patterns"] = json!({"patterns": [{
        "name": "head_and_shoulders", "confidence": 0.9, "completionPercent": 100.0, "status": "confirmed", "direction": "down",
        "breakoutPrice": 2.0, "height": 0.5}]});
    report["tokens"][0]["security"] =
        json!({"securityScore": 52, "recommendation": "CAUTION: a tax"});
    let none = PatternRecord::none(analysis::patterns::PatternName::HeadAndShoulders);
    let few = PatternRecord {
        count: 9,
        target: Some(1.0),
        ..none.clone()
    };
    let some = PatternRecord {
        count: 30,
        target: Some(1.0 / 3.0),
        random_target: Some(0.25),
        evidence: Evidence {
            days: 28,
            ..Evidence::default()
        },
        ..none.clone()
    };
    let text = |record: &PatternRecord| {
        document(
            &report,
            &Extras {
                card: Some(0),
                record: Some(record.clone()),
                ..Extras::default()
            },
        )
        .write(DocumentForm::Markdown)
    };
    for says in [
        "1 pattern, detected in hindsight (with all candles)\n",
        "- **Pattern fit**: 90% (not a win rate)\n",
        "- **Track record**: no earlier pattern of this name has completed\n",
        "- **Height**: 0.5000, measured from the breakout\n",
    ] {
        assert!(text(&none).contains(says), "{says}\n{}", text(&none));
    }
    let says = "- **Track record**: only 9 completed patterns of this name; at least 10 are needed for a hit rate\n";
    assert!(text(&few).contains(says), "{}", text(&few));
    let says = "33% of this token's 30 completed patterns of this name (detected in real time) on 28 days hit their target; base rate 25% (random entries): \
        too few to detect an edge of 10 percentage points";
    assert!(text(&some).contains(says), "{}", text(&some));
    // Next to a warning there is no trade card, target or stop.
    report["tokens"][0]["security"] =
        json!({"securityScore": 12, "recommendation": "AVOID: sells fail"});
    let warned = document(
        &report,
        &Extras {
            card: Some(0),
            record: Some(some),
            ..Extras::default()
        },
    )
    .write(DocumentForm::Markdown);
    assert!(
        !warned.contains("rade card") && !warned.contains("target") && !warned.contains("stop"),
        "{warned}"
    );
    let (warning, name) = (
        warned.find("Security: AVOID, score 12."),
        warned.find("Uniswap"),
    );
    assert!(
        warning.is_some() && warning < name,
        "the warning comes first: {warned}"
    );
}

#[test]
fn a_fall_by_more_than_the_price_is_measured_on_a_logarithmic_scale() {
    let told = |by_log: bool| {
        let part = json!({"patterns": [{"direction": "down", "breakoutPrice": 0.000_010_73, "height": 0.000_075_7, "targetByLog": by_log}]});
        let section = levels::trade_card(&part, 0, None, Some("stale: so"));
        format!("{:?}", section.blocks)
    };
    assert!(told(true).contains(
        "0.0000757, more than half of the breakout price, so the target uses a logarithmic scale"
    ));
    assert!(
        told(false).contains("0.0000757, measured from the breakout")
            && told(false).contains("stale: so")
    );
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
    token["holders"] =
        json!({"holders": [{"holder_address": wicked, "balance": 1.0, "labels": [wicked]}]});
    token["dexes"] =
        json!({"dexes": [{"name": wicked, "chainId": wicked, "bestPool": {"pair": wicked}}]});
    let mut document = document(&report, &Extras::default());
    document.title = wicked.to_owned();
    document.note = wicked.to_owned();
    let html = document.write(DocumentForm::Html);
    let tags: Vec<&str> = html
        .split('<')
        .skip(1)
        .map(|tag| tag.split(['>', ' ', '\n']).next().unwrap_or_default())
        .collect();
    for tag in tags {
        let known = "!doctype html head meta title style body header h1 h2 h3 h4 p main section small dl dt dd div table thead tbody tr th td";
        assert!(
            known
                .split(' ')
                .any(|known| known == tag.trim_start_matches('/')),
            "{tag}"
        );
    }
    assert!(
        html.matches("&lt;script&gt;alert(1)&lt;/script&gt;")
            .count()
            >= 10,
        "{html}"
    );
    assert!(!html.contains('\u{202e}') && !html.contains('\0'));
    // Anything that would load or run: the only URL in it is text.
    for loads in ["<script", "src=", "href=", "url(", "@import"] {
        assert!(!html.contains(loads), "{loads}");
    }
    let text = document.write(DocumentForm::Markdown);
    for meant in [
        "<script", "[x](", "![", "http://", "www.", "@", "\n# T", "\n- l", " | 'q'", " `c`",
    ] {
        assert!(!text.contains(meant), "{meant}\n{text}");
    }
}

#[test]
fn a_text_of_the_dataset_is_cut_to_a_length() {
    let mut report = report();
    report["tokens"][0]["token"]["name"] = "a".repeat(1 << 20).into();
    assert!(
        document(&report, &Extras::default())
            .write(DocumentForm::Html)
            .len()
            < 100_000
    );
}

#[test]
fn fetched_posts_are_linked_and_those_of_the_user_are_quoted() {
    let token = json!({"top_posts": [{"title": "Audit report", "link": "https://example.org/1"}]});
    for (are_fetched, there, missing) in [
        (true, "https://example.org/1", "Audit report"),
        (false, "Audit report", "https://example.org/1"),
    ] {
        let section = format!("{:?}", posts(&token, None, are_fetched));
        assert!(
            section.contains(there) && !section.contains(missing),
            "{section}"
        );
    }
}
