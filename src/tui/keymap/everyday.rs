//! Everyday words for what keys do, so that help and palette find a verb by the word a person has for it. An action that is called
//! what people call it needs none.

use super::Action;

const WORDS: &[(Action, &str)] = &[
    (Action::Help, "keys shortcuts manual"),
    (Action::Palette, "command search go jump find menu"),
    (Action::Filter, "search screen find where narrow condition only"),
    (Action::Sort, "order rank by"),
    (Action::SortReverse, "order descending ascending invert"),
    (Action::First, "top start begin"),
    (Action::Last, "bottom end"),
    (Action::Open, "enter show detail inspect"),
    (Action::Back, "escape close leave cancel stop"),
    (Action::CopyValue, "clipboard yank address"),
    (Action::CopyRow, "clipboard yank json"),
    (Action::CopyCurl, "http request api command"),
    (Action::Export, "save download file csv excel parquet"),
    (Action::OpenLink, "browser url web explorer"),
    (Action::Star, "favourite favorite watch bookmark follow"),
    (Action::Reload, "refresh update again"),
    (Action::NextView, "tab"),
    (Action::PreviousView, "tab"),
    (Action::ViewTokens, "coins list market overview screen"),
    (Action::ViewPosts, "social news tweets mentions"),
    (Action::ViewChart, "candles price technical graph plot"),
    (Action::ViewSecurity, "scam risk honeypot audit rug safe score"),
    (Action::ViewDexes, "exchange pools liquidity trading"),
    (Action::ViewGrowth, "holders fastest ranking trending"),
    (Action::ViewYield, "plan apy invest strategy farming"),
    (Action::ViewJobs, "deep analysis report background queue"),
    (Action::ViewData, "tables files dataset quality problems"),
    (Action::ViewApi, "server http key requests"),
    (Action::Quit, "exit close leave"),
    (Action::Screens, "save views presets layout named screener preset view saved search"),
    (Action::FilterLike, "include only same value equal narrow"),
    (Action::FilterUnlike, "exclude without not value remove"),
    (Action::Columns, "fields show hide order width freeze resize layout"),
    (Action::Mark, "select choose tick compare pick"),
    (Action::CompareTokens, "versus correlation side by side performance chart relative overlay"),
    (Action::NextToken, "following coin next"),
    (Action::PreviousToken, "earlier coin last back"),
    (Action::CountValues, "frequency histogram group distinct unique"),
    (Action::Describe, "summary statistics mean median quartiles distribution profile"),
    (Action::Detail, "side panel sidebar"),
    (Action::Watchlist, "favourites favorites starred"),
    (Action::MoreColumns, "columns fields show hide score"),
    (Action::AllFigures, "compute calculate every"),
    (Action::AllPosts, "every token global"),
    (Action::ZoomIn, "closer larger magnify"),
    (Action::ZoomOut, "wider smaller"),
    (Action::Crosshair, "cursor values ohlc"),
    (Action::Timeframe, "interval hourly daily weekly candle 4h 1d"),
    (Action::PeriodShorter, "lookback window"),
    (Action::PeriodLonger, "lookback window"),
    (Action::LogScale, "logarithmic scale axis"),
    (Action::Indicators, "technical study moving average oscillator sma ema rsi macd bollinger bands vwap obv atr overlay"),
    (Action::Trendlines, "support resistance levels lines"),
    (Action::Patterns, "shapes formations targets"),
    (Action::NextPattern, "target shape why"),
    (Action::TrackRecord, "backtest history success hit rate worked reliable win skill signals"),
    (Action::ExpandAll, "proof evidence reasons why open all"),
    (Action::Window, "days week month span"),
    (Action::AddAmount, "deposit wallet balance token"),
    (Action::RemoveAmount, "delete wallet"),
    (Action::Risk, "safe safety level"),
    (Action::Chains, "network"),
    (Action::MinimumApy, "least interest rate"),
    (Action::Scale, "multiply larger amount"),
    (Action::Compare, "compare difference steps allocation tab"),
    (Action::SavePlan, "keep store remember"),
    (Action::NextPlan, "recall open earlier compare"),
    (Action::DropPlan, "remove delete forget"),
    (Action::StartJob, "analyse analyze deep new run begin"),
    (Action::Terminate, "stop cancel kill abort"),
    (Action::ReportJson, "raw json page source"),
    (Action::Findings, "problems errors warnings rejected rows quality"),
    (Action::ShowKey, "secret token password reveal"),
    (Action::StartStop, "server on off"),
];

/// The everyday words for the action, separated by blanks.
pub(super) fn words(action: Action) -> &'static str {
    WORDS.iter().find(|(known, _)| *known == action).map_or("", |(_, words)| words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_action_has_its_words_twice() {
        for (i, (action, words)) in WORDS.iter().enumerate() {
            assert!(!words.is_empty() && WORDS[..i].iter().all(|(known, _)| known != action), "{action:?}");
        }
    }
}
