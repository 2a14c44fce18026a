//! The tables of views and of key bindings. A binding is added here and nowhere else.

/// The views, in the order of their number keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ViewId {
    Tokens,
    Posts,
    Chart,
    Security,
    Dexes,
    Growth,
    Yield,
    Jobs,
    Data,
    Api,
}

/// A row of the view table.
#[derive(Debug, Clone, Copy)]
pub struct ViewRow {
    pub id: ViewId,
    pub key: char,
    /// The tab's title.
    pub title: &'static str,
    /// The name on the command line and in the state file.
    pub word: &'static str,
    pub goto: Action,
}

macro_rules! views {
    ($($id:ident $key:literal $title:literal $word:literal $goto:ident;)*) => {
        pub const VIEWS: &[ViewRow] =
            &[$(ViewRow { id: ViewId::$id, key: $key, title: $title, word: $word, goto: Action::$goto }),*];
    };
}

views! {
    Tokens '1' "Tokens" "tokens" ViewTokens;
    Posts '2' "Posts" "posts" ViewPosts;
    Chart '3' "Chart" "chart" ViewChart;
    Security '4' "Security" "security" ViewSecurity;
    Dexes '5' "DEXes" "dexes" ViewDexes;
    Growth '6' "Growth" "growth" ViewGrowth;
    Yield '7' "Yield" "yield" ViewYield;
    Jobs '8' "Jobs" "jobs" ViewJobs;
    Data '9' "Data" "data" ViewData;
    Api '0' "API" "api" ViewApi;
}

impl ViewId {
    pub fn row(self) -> &'static ViewRow {
        &VIEWS[self as usize]
    }

    pub fn title(self) -> &'static str {
        self.row().title
    }

    pub fn parse(word: &str) -> Option<Self> {
        VIEWS.iter().find(|row| row.word.eq_ignore_ascii_case(word)).map(|row| row.id)
    }

    #[must_use]
    pub fn next(self) -> Self {
        VIEWS[(self as usize + 1) % VIEWS.len()].id
    }

    #[must_use]
    pub fn previous(self) -> Self {
        VIEWS[(self as usize + VIEWS.len() - 1) % VIEWS.len()].id
    }
}

/// The scope of a binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    Everywhere,
    View(ViewId),
    /// In each of these views; with their collective name for documents.
    Some(&'static str, &'static [ViewId]),
}

/// The views with one list of tokens.
const LISTS: Scope = Scope::Some("Tokens, Growth", &[ViewId::Tokens, ViewId::Growth]);
/// The views with a list of selectable cells.
const CELLS: Scope = Scope::Some("Tokens, Growth, Data", &[ViewId::Tokens, ViewId::Growth, ViewId::Data]);
/// The views of one token.
const TOKEN: Scope = Scope::Some("Posts, Chart, Security, DEXes", &[ViewId::Posts, ViewId::Chart, ViewId::Security, ViewId::Dexes]);

impl Scope {
    /// Whether two scopes overlap.
    pub fn overlaps(self, other: Self) -> bool {
        match (self, other) {
            (Self::Everywhere, _) | (_, Self::Everywhere) => true,
            (Self::View(view), scope) | (scope, Self::View(view)) => scope.holds(view),
            (Self::Some(_, views), scope) => views.iter().any(|view| scope.holds(*view)),
        }
    }

    /// Whether the scope includes the view.
    pub fn holds(self, view: ViewId) -> bool {
        match self {
            Self::Everywhere => true,
            Self::View(own) => own == view,
            Self::Some(_, views) => views.contains(&view),
        }
    }
}

/// A row of the key table.
#[derive(Debug, Clone, Copy)]
pub struct KeyRow {
    pub action: Action,
    pub scope: Scope,
    /// Parsed by `Chord::parse`; the footer shows the first.
    pub keys: &'static [&'static str],
    /// One sentence.
    pub help: &'static str,
    /// Footer label and weight: the heaviest are shown.
    pub footer: Option<(&'static str, u8)>,
    /// Search synonyms for help and palette; none needed where the action has its common name.
    pub synonyms: &'static str,
}

macro_rules! keys {
    (@scope Everywhere) => { Scope::Everywhere };
    (@scope Lists) => { LISTS };
    (@scope Cells) => { CELLS };
    (@scope Token) => { TOKEN };
    (@scope $view:ident) => { Scope::View(ViewId::$view) };
    (@synonyms) => { "" };
    (@synonyms $words:literal) => { $words };
    (@footer) => { None };
    (@footer $label:literal $weight:literal) => { Some(($label, $weight)) };
    ($($scope:ident { $($action:ident $name:literal [$($key:literal)*] $help:literal
        $(($label:literal $weight:literal))? $(or $words:literal)?;)* })*) => {
        /// Every action of key, palette or mouse.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Action { $($(#[doc = $help] $action,)*)* }

        pub const KEYS: &[KeyRow] = &[$($(KeyRow {
            action: Action::$action,
            scope: keys!(@scope $scope),
            keys: &[$($key),*],
            help: $help,
            footer: keys!(@footer $($label $weight)?),
            synonyms: keys!(@synonyms $($words)?),
        },)*)*];

        impl Action {
            /// The name in `[keys]` of the configuration and in the palette.
            pub fn name(self) -> &'static str {
                match self { $($(Action::$action => $name,)*)* }
            }
        }
    };
}

keys! {
    Everywhere {
        Help "help" ["?" "F1"] "Show the keys of this view." ("help" 255) or "keys shortcuts manual";
        Tour "tour" ["F3"] "A tour of six stops: what is where, and by which key." or "introduction tutorial guide first steps begin";
        Palette "palette" [":" "Ctrl-P"] "Find an action or a token by name." ("palette" 60) or "command search go jump find menu";
        Filter "filter" ["/"] "Filter the rows: words are fuzzy, `cap>1m` is exact." ("filter" 90)
            or "search screen find where narrow condition only";
        Sort "sort" ["s"] "Sort by the next column; in a table of Data by the selected one." ("sort" 80) or "order rank by";
        SortReverse "sort_reverse" ["S"] "Reverse the sort." or "order descending ascending invert";
        Up "up" ["Up" "k"] "One row up.";
        Down "down" ["Down" "j"] "One row down.";
        Left "left" ["Left" "h"] "To the left; pans the chart.";
        Right "right" ["Right" "l"] "To the right; pans the chart.";
        First "first" ["g" "Home"] "To the first row." or "top start begin";
        Last "last" ["G" "End"] "To the last row." or "bottom end";
        PageUp "page_up" ["PageUp" "Ctrl-B"] "A page up.";
        PageDown "page_down" ["PageDown" "Ctrl-F"] "A page down.";
        Open "open" ["Enter"] "Open the selected row." ("open" 100) or "enter show detail inspect";
        Back "back" ["Esc"] "Go back, close, cancel." or "escape close leave cancel stop";
        CopyValue "copy_value" ["y"] "Copy the selected value." ("copy" 40) or "clipboard yank address";
        CopyRow "copy_row" ["Y"] "Copy the selected row as JSON." or "clipboard yank json";
        CopyCurl "copy_curl" ["c"] "Copy the curl command that gives the same data." ("curl" 30) or "http request api command";
        Export "export" ["e"] "Export the table as CSV, JSON, NDJSON or Parquet, an open report as HTML." ("export" 35) or "save download file csv excel parquet";
        Screens "screens" ["F2"] "Save the list's filter, order and columns under a name, or open saved ones."
            or "save views presets layout named screener preset view saved search";
        OpenLink "open_link" ["o"] "Open the link of the selected row." or "browser url web explorer";
        Alerts "alerts" ["A"] "Alerts: tell when the token, or any token, comes to meet a condition; ◦ before a token: it has one, ! it fired." ("alert" 52);
        Note "note" ["E"] "Write a note about the token, for yourself and its report." or "comment memo annotation annotate text";
        Report "report" ["P"] "The token's report on one page, made where there is none." ("report" 59)
            or "deep analysis print html colleague share summary document";
        Star "star" ["w"] "Put the token on the watchlist, or take it off." ("star" 70) or "favourite favorite watch bookmark follow";
        Reload "reload" ["r" "F5"] "Read the data again." or "refresh update again";
        AsOf "as_of" ["@"] "Everything as it was known at a day's end; again: the present." or "date past history back time travel";
        DayBefore "day_before" ["<"] "As of a day: the day before." or "earlier yesterday past";
        DayAfter "day_after" [">"] "As of a day: the day after." or "later tomorrow";
        NextView "next_view" ["Tab"] "To the next view." or "tab";
        PreviousView "previous_view" ["Shift-Tab"] "To the view before." or "tab";
        ViewTokens "view_tokens" ["1"] "Every token in one table." or "coins list market overview screen";
        ViewPosts "view_posts" ["2"] "Posts about the token." or "social news tweets mentions";
        ViewChart "view_chart" ["3"] "Candles, trendlines and patterns of the token." or "candles price technical graph plot";
        ViewSecurity "view_security" ["4"] "The token's score and the reasons for it." or "scam risk honeypot audit rug safe score";
        ViewDexes "view_dexes" ["5"] "Where the token is traded." or "exchange pools liquidity trading";
        ViewGrowth "view_growth" ["6"] "The tokens whose holders grow fastest." or "holders fastest ranking trending";
        ViewYield "view_yield" ["7"] "A plan for idle tokens." or "plan apy invest strategy farming";
        ViewJobs "view_jobs" ["8"] "Deep analyses, running and done." or "deep analysis report background queue";
        ViewData "view_data" ["9"] "The tables, where they come from and their problems." or "tables files dataset quality problems";
        ViewApi "view_api" ["0"] "Address, key and requests of the API." or "server http key requests";
        Redraw "redraw" ["Ctrl-L"] "Draw the screen afresh.";
        Suspend "suspend" ["Ctrl-Z"] "Leave for the shell; `fg` comes back.";
        Quit "quit" ["q" "Ctrl-C"] "Leave the program." or "exit close leave";
    }
    Cells {
        Columns "columns" ["C"] "Choose columns: show, hide, move, widen, freeze." ("columns" 55)
            or "fields show hide order width freeze resize layout";
    }
    Lists {
        FilterLike "filter_like" ["+"] "Keep rows with the selected cell's value, figures from it up; ← → choose the cell."
            or "include only same value equal narrow";
        FilterUnlike "filter_unlike" ["-"] "Leave out rows with the selected cell's value, figures from it up."
            or "exclude without not value remove";
        Mark "mark" ["Space"] "Mark the token to compare it, or take the mark off." or "select choose tick compare pick";
        CompareTokens "compare_tokens" ["V"] "Compare the marked tokens in one chart, with their correlations." ("compare" 50)
            or "versus correlation side by side performance chart relative overlay";
        Window "window" ["t"] "Growth over the next window: 1, 7, 30 days; a comparison over the next period." ("period" 58)
            or "days week month span year window";
        CompareBase "compare_base" ["b"] "In a comparison: hold the others against the selected token." ("base" 57) or "against benchmark reference beta";
        CompareTimeframe "compare_timeframe" ["i"] "In a comparison: the next timeframe: 1h, 4h, 1d, 1w." ("timeframe" 56) or "interval candle";
    }
    Token {
        NextToken "next_token" ["J"] "To the next token of the list." or "following coin next";
        PreviousToken "previous_token" ["K"] "To the token before in the list." or "earlier coin last back";
    }
    Tokens {
        Detail "detail" ["d"] "Show or hide the detail beside the table." or "side panel sidebar";
        Watchlist "watchlist" ["W"] "Show the watchlist alone, or every token." or "favourites favorites starred";
        MoreColumns "more_columns" ["m"] "Show trend, pattern, advice, score and risk of the tokens, or hide them."
            or "columns fields show hide security";
        AllFigures "all_figures" ["M"] "Compute these columns for every token, not only those on screen; Esc stops."
            or "compute calculate every";
    }
    Posts {
        AllPosts "all_posts" ["a"] "Posts about every token, or about the selected one." ("all/one" 75) or "every token global";
    }
    Chart {
        ZoomIn "zoom_in" ["+" "="] "Zoom in." ("zoom" 110) or "closer larger magnify";
        ZoomOut "zoom_out" ["-"] "Zoom out." or "wider smaller";
        Crosshair "crosshair" ["x"] "Show or hide the crosshair; left and right move it." ("crosshair" 105) or "cursor values ohlc";
        Timeframe "timeframe" ["t"] "The next timeframe: 1h, 4h, 1d, 1w." ("timeframe" 108) or "interval hourly daily weekly candle 4h 1d";
        TimeframeBack "timeframe_back" ["T"] "The timeframe before.";
        PeriodShorter "period_shorter" ["["] "A shorter period for the trendlines." ("period" 85) or "lookback window";
        PeriodLonger "period_longer" ["]"] "A longer period for the trendlines." or "lookback window";
        LogScale "log_scale" ["L"] "Logarithmic or linear prices." ("log" 84) or "logarithmic scale axis";
        Volume "volume" ["v"] "Show or hide the volume.";
        Indicators "indicators" ["I"] "Choose indicators: averages, Bollinger, VWAP, RSI, MACD, OBV, ATR." ("indicators" 104)
            or "technical study moving average oscillator sma ema rsi macd bollinger bands vwap obv atr overlay";
        Levels "levels" ["a"] "Your own price levels: set one at the crosshair or the last price, list, remove, alert on it." ("level" 86)
            or "line horizontal support resistance mark price own draw";
        Trendlines "trendlines" ["m"] "Show or hide the trendlines: S support, R resistance, reg regression."
            or "support resistance levels lines";
        Patterns "patterns" ["p"] "Show or hide the patterns." or "shapes formations targets";
        NextPattern "next_pattern" ["n"] "To the next pattern." ("pattern" 106) or "target shape why";
        PreviousPattern "previous_pattern" ["N"] "To the pattern before.";
        Reversals "reversals" ["u"] "Show or hide heads and shoulders, double and triple tops.";
        Triangles "triangles" ["i"] "Show or hide triangles, wedges and broadening patterns.";
        Channels "channels" ["d"] "Show or hide rectangles and channels.";
        Flags "flags" ["f"] "Show or hide flags and pennants.";
        TrackRecord "track_record" ["R"] "Which signals were worth following on this data: patterns, trend words, growth ranks beside any entry."
            or "backtest history success hit rate worked reliable win skill signals";
        Roundings "roundings" ["b"] "Show or hide cups, rounding tops and bottoms.";
    }
    Security {
        TokenHolders "holders" ["H"] "The token's holders in a list: label, share, first seen, in and out; Enter: what else one holds." ("holders" 90)
            or "wallets whales balances owners addresses";
        ExpandAll "expand_all" ["x"] "Show the evidence of every anomaly, or of none." ("evidence" 75)
            or "proof evidence reasons why open all";
    }
    Yield {
        AddAmount "add_amount" ["a"] "Add the selected token to the wallet; / edits it whole, or takes a JSON request." ("add" 95)
            or "deposit wallet balance token";
        RemoveAmount "remove_amount" ["Delete" "d"] "Take the selected row's token out of the wallet." or "delete wallet";
        Risk "risk" ["t"] "The next risk level: low, medium, high." ("risk" 98) or "safe safety level";
        Chains "chains" ["i"] "The next chain alone, or all." ("chain" 87) or "network";
        MinimumApy "minimum_apy" ["m"] "Type the minimum APY, percent." ("min APY" 97) or "least interest rate";
        NoMinimumApy "no_minimum_apy" ["M"] "No minimum APY.";
        Scale "scale" ["x"] "The plan for twice, four and ten times the amounts, and for them again." ("×2" 96) or "multiply larger amount";
        NextPane "compare" ["n"] "The next pane: comparison, allocation, steps." ("pane" 86) or "compare difference steps allocation tab";
        SavePlan "save_plan" ["v"] "Save the plan to compare with." ("save" 85) or "keep store remember";
        NextPlan "next_plan" ["p"] "Load the next saved plan." ("saved" 84) or "recall open earlier compare";
        DropPlan "drop_plan" ["V"] "Delete the saved plan that is loaded." or "remove delete forget";
    }
    Dexes {
        EveryPool "every_pool" ["a"] "The token's pools on every DEX, or on the selected one." ("all/one" 92) or "pools all best cheapest";
        SellAmount "sell_amount" ["x"] "Type the amount to sell: what fee and price impact take in each pool." ("amount" 93)
            or "size slippage price impact loss trade swap";
    }
    Jobs {
        StartJob "start_job" ["a"] "Start a deep analysis of the selected token." ("start" 95) or "analyse analyze deep new run begin";
        Terminate "terminate" ["x"] "Terminate the selected job." ("terminate" 92) or "stop cancel kill abort";
        ReportJson "report_json" ["v"] "Show the report as raw JSON, or as a page." ("JSON" 101) or "raw json page source";
    }
    Data {
        GroupBy "group_by" ["b"] "Group the rows by a column: count, sum, mean, min, max of others." ("group by" 89)
            or "aggregate pivot sum mean average total per";
        CountValues "count_values" ["F"] "Count the values of the selected column, the most frequent first." ("count" 87)
            or "frequency histogram group distinct unique";
        Describe "describe" ["D"] "Describe the selected column: count, missing, distinct, quartiles, mean, histogram." ("describe" 86)
            or "summary statistics mean median quartiles distribution profile";
        Findings "findings" ["f"] "Show the problems of the selected table: rejected rows, warnings." ("problems" 88)
            or "problems errors warnings rejected rows quality";
    }
    Api {
        ShowKey "show_key" ["K"] "Show or hide the key." ("key" 95) or "secret token password reveal";
        StartStop "start_stop" ["a"] "Start or stop the API." ("start/stop" 88) or "server on off";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_views_is_in_the_order_of_the_enum() {
        for (place, row) in VIEWS.iter().enumerate() {
            assert_eq!(row.id as usize, place);
            let key = KEYS.iter().find(|key| key.action == row.goto).unwrap();
            assert_eq!(key.keys, [row.key.to_string()]);
            assert_eq!(ViewId::parse(row.word), Some(row.id));
        }
        assert_eq!((ViewId::Api.next(), ViewId::Tokens.previous()), (ViewId::Tokens, ViewId::Api));
    }
}
