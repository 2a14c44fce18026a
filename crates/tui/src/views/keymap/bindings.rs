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
        VIEWS
            .iter()
            .find(|row| row.word.eq_ignore_ascii_case(word))
            .map(|row| row.id)
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
const CELLS: Scope = Scope::Some(
    "Tokens, Growth, Data",
    &[ViewId::Tokens, ViewId::Growth, ViewId::Data],
);
/// The views of one token.
const TOKEN: Scope = Scope::Some(
    "Posts, Chart, Security, DEXes",
    &[
        ViewId::Posts,
        ViewId::Chart,
        ViewId::Security,
        ViewId::Dexes,
    ],
);

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
    /// Search synonyms for help and palette; empty if the action has its common name.
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
        /// Every action, whether started by key, palette or mouse.
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
        Help "help" ["?" "F1"] "Show this view's keys." ("help" 255) or "keys shortcuts manual";
        Tour "tour" ["F3"] "Take a six-stop tour." or "introduction tutorial guide first steps begin";
        Palette "palette" [":" "Ctrl-P"] "Find an action or token." ("palette" 60) or "command search go jump find menu";
        Filter "filter" ["/"] "Filter rows: words match fuzzily, `cap>1m` exactly." ("filter" 90)
            or "search screen find where narrow condition only";
        Sort "sort" ["s"] "Sort by the next column (in Data tables: the selected one)." ("sort" 80) or "order rank by";
        SortReverse "sort_reverse" ["S"] "Reverse the sort order." or "order descending ascending invert";
        Up "up" ["Up" "k"] "Move up.";
        Down "down" ["Down" "j"] "Move down.";
        Left "left" ["Left" "h"] "Move left; pan the chart.";
        Right "right" ["Right" "l"] "Move right; pan the chart.";
        First "first" ["g" "Home"] "Go to the first row." or "top start begin";
        Last "last" ["G" "End"] "Go to the last row." or "bottom end";
        PageUp "page_up" ["PageUp" "Ctrl-B"] "Page up.";
        PageDown "page_down" ["PageDown" "Ctrl-F"] "Page down.";
        Open "open" ["Enter"] "Open the selected row." ("open" 100) or "enter show detail inspect";
        Back "back" ["Esc"] "Go back, close or cancel." or "escape close leave cancel stop";
        CopyValue "copy_value" ["y"] "Copy the selected value." ("copy" 40) or "clipboard yank address";
        CopyRow "copy_row" ["Y"] "Copy the row as JSON." or "clipboard yank json";
        CopyCurl "copy_curl" ["c"] "Copy the curl command for this data." ("curl" 30) or "http request api command";
        Export "export" ["e"] "Export the table (CSV, JSON, NDJSON, Parquet) or an open report (HTML)." ("export" 35) or "save download file csv excel parquet";
        Screens "screens" ["F2"] "Save or open a screen: filter, order and columns."
            or "save views presets layout named screener preset view saved search";
        OpenLink "open_link" ["o"] "Open the row's link." or "browser url web explorer";
        Alerts "alerts" ["A"] "Manage alerts for this token or any token (◦ has an alert, ! fired)." ("alert" 52);
        Note "note" ["E"] "Edit your note on the token." or "comment memo annotation annotate text";
        Report "report" ["P"] "Open the token's report, creating it if needed." ("report" 59)
            or "deep analysis print html colleague share summary document";
        Star "star" ["w"] "Add the token to the watchlist, or remove it." ("star" 70) or "favourite favorite watch bookmark follow";
        Reload "reload" ["r" "F5"] "Reload the data." or "refresh update again";
        AsOf "as_of" ["@"] "View a past day; press again for the present." or "date past history back time travel";
        DayBefore "day_before" ["<"] "Go back one day." or "earlier yesterday past";
        DayAfter "day_after" [">"] "Go forward one day." or "later tomorrow";
        NextView "next_view" ["Tab"] "Go to the next view." or "tab";
        PreviousView "previous_view" ["Shift-Tab"] "Go to the previous view." or "tab";
        ViewTokens "view_tokens" ["1"] "All tokens in one table." or "coins list market overview screen";
        ViewPosts "view_posts" ["2"] "Posts about the token." or "social news tweets mentions";
        ViewChart "view_chart" ["3"] "Candles, trendlines and patterns." or "candles price technical graph plot";
        ViewSecurity "view_security" ["4"] "Security score and findings." or "scam risk honeypot audit rug safe score";
        ViewDexes "view_dexes" ["5"] "Where the token trades." or "exchange pools liquidity trading";
        ViewGrowth "view_growth" ["6"] "Tokens ranked by holder growth." or "holders fastest ranking trending";
        ViewYield "view_yield" ["7"] "Yield plan for your wallet." or "plan apy invest strategy farming";
        ViewJobs "view_jobs" ["8"] "Deep analyses, running and finished." or "deep analysis report background queue";
        ViewData "view_data" ["9"] "Tables, sources and issues." or "tables files dataset quality problems";
        ViewApi "view_api" ["0"] "API address, key and requests." or "server http key requests";
        Redraw "redraw" ["Ctrl-L"] "Redraw the screen.";
        Suspend "suspend" ["Ctrl-Z"] "Suspend to the shell; `fg` resumes.";
        Quit "quit" ["q" "Ctrl-C"] "Quit tokendeck." or "exit close leave";
    }
    Cells {
        Columns "columns" ["C"] "Choose columns: show, hide, move, resize, freeze." ("columns" 55)
            or "fields show hide order width freeze resize layout";
    }
    Lists {
        FilterLike "filter_like" ["+"] "Keep rows with this value (numbers: this or higher); ← → select the cell."
            or "include only same value equal narrow";
        FilterUnlike "filter_unlike" ["-"] "Exclude rows with this value (numbers: keep lower ones)."
            or "exclude without not value remove";
        Mark "mark" ["Space"] "Mark or unmark the token for comparison." or "select choose tick compare pick";
        CompareTokens "compare_tokens" ["V"] "Compare marked tokens: chart and correlations." ("compare" 50)
            or "versus correlation side by side performance chart relative overlay";
        Window "window" ["t"] "Next growth window (1, 7, 30 days) or comparison period." ("period" 58)
            or "days week month span year window";
        CompareBase "compare_base" ["b"] "In a comparison: use the selected token as the benchmark." ("base" 57) or "against benchmark reference beta";
        CompareTimeframe "compare_timeframe" ["i"] "In a comparison: next timeframe (1h, 4h, 1d, 1w)." ("timeframe" 56) or "interval candle";
    }
    Token {
        NextToken "next_token" ["J"] "Next token in the list." or "following coin next";
        PreviousToken "previous_token" ["K"] "Previous token in the list." or "earlier coin last back";
    }
    Tokens {
        Detail "detail" ["d"] "Toggle the detail pane." or "side panel sidebar";
        Watchlist "watchlist" ["W"] "Show only the watchlist, or all tokens." or "favourites favorites starred";
        MoreColumns "more_columns" ["m"] "Toggle trend, pattern, advice, score and risk."
            or "columns fields show hide security";
        AllFigures "all_figures" ["M"] "Compute these columns for all tokens; Esc stops."
            or "compute calculate every";
    }
    Posts {
        AllPosts "all_posts" ["a"] "Toggle posts of all tokens." ("all/one" 75) or "every token global";
        PostsRecord "posts_record" ["R"] "Show returns after each author's posts, compared with similar candles."
            or "track history leaders influencers authors success reliable followed";
    }
    Chart {
        ZoomIn "zoom_in" ["+" "="] "Zoom in." ("zoom" 110) or "closer larger magnify";
        ZoomOut "zoom_out" ["-"] "Zoom out." or "wider smaller";
        Crosshair "crosshair" ["x"] "Toggle the crosshair; ← → move it." ("crosshair" 105) or "cursor values ohlc";
        Timeframe "timeframe" ["t"] "Next timeframe: 1h, 4h, 1d, 1w." ("timeframe" 108) or "interval hourly daily weekly candle 4h 1d";
        TimeframeBack "timeframe_back" ["T"] "Previous timeframe.";
        PeriodShorter "period_shorter" ["["] "Shorten the trendline period." ("period" 85) or "lookback window";
        PeriodLonger "period_longer" ["]"] "Lengthen the trendline period." or "lookback window";
        LogScale "log_scale" ["L"] "Toggle logarithmic scale." ("log" 84) or "logarithmic scale axis";
        Volume "volume" ["v"] "Toggle volume.";
        Indicators "indicators" ["I"] "Choose indicators: moving averages, Bollinger Bands, VWAP, RSI, MACD, OBV, ATR, mentions." ("indicators" 104)
            or "technical study moving average oscillator sma ema rsi macd bollinger bands vwap obv atr mentions posts social overlay";
        Levels "levels" ["a"] "Manage price levels: add, remove, alert." ("level" 86)
            or "line horizontal support resistance mark price own draw";
        Trendlines "trendlines" ["m"] "Toggle trendlines: S support, R resistance, reg regression."
            or "support resistance levels lines";
        Patterns "patterns" ["p"] "Toggle patterns." or "shapes formations targets";
        NextPattern "next_pattern" ["n"] "Next pattern." ("pattern" 106) or "target shape why";
        PreviousPattern "previous_pattern" ["N"] "Previous pattern.";
        Reversals "reversals" ["u"] "Toggle head and shoulders, double and triple tops and bottoms.";
        Triangles "triangles" ["i"] "Toggle triangles, wedges and broadening patterns.";
        Channels "channels" ["d"] "Toggle rectangles and channels.";
        Flags "flags" ["f"] "Toggle flags and pennants.";
        TrackRecord "track_record" ["R"] "Show hit rates of past signals, compared with the base rate."
            or "backtest history success hit rate worked reliable win skill signals";
        Roundings "roundings" ["b"] "Toggle cups and rounding patterns.";
    }
    Security {
        TokenHolders "holders" ["H"] "List the token's holders; again: group them by likely owner. Enter lists a holder's other tokens." ("holders" 90)
            or "wallets whales balances owners addresses";
        VerdictRecord "verdict_record" ["R"] "Show outcomes of tokens after past verdicts, compared with all tokens."
            or "track history success hit rate reliable outcome rug scam";
        ExpandAll "expand_all" ["x"] "Expand or collapse all evidence." ("evidence" 75)
            or "proof evidence reasons why open all";
    }
    Yield {
        AddAmount "add_amount" ["a"] "Add the selected token to the wallet; / edits the wallet, or takes a JSON request." ("add" 95)
            or "deposit wallet balance token";
        RemoveAmount "remove_amount" ["Delete" "d"] "Remove the row's token from the wallet." or "delete wallet";
        Risk "risk" ["t"] "Next risk level: low, medium, high." ("risk" 98) or "safe safety level";
        Chains "chains" ["i"] "Next chain, or all." ("chain" 87) or "network";
        MinimumApy "minimum_apy" ["m"] "Set the minimum APY in percent." ("min APY" 97) or "least interest rate";
        NoMinimumApy "no_minimum_apy" ["M"] "Clear the minimum APY.";
        Scale "scale" ["x"] "Scale the wallet: ×1, ×2, ×4, ×10." ("×2" 96) or "multiply larger amount";
        NextPane "compare" ["n"] "Next pane: comparison, allocation, steps." ("pane" 86) or "compare difference steps allocation tab";
        SavePlan "save_plan" ["v"] "Save the plan for comparison." ("save" 85) or "keep store remember";
        NextPlan "next_plan" ["p"] "Load the next saved plan." ("saved" 84) or "recall open earlier compare";
        DropPlan "drop_plan" ["V"] "Delete the loaded plan." or "remove delete forget";
    }
    Dexes {
        EveryPool "every_pool" ["a"] "Toggle pools on all DEXes." ("all/one" 92) or "pools all best cheapest";
        SellAmount "sell_amount" ["x"] "Set the sell size to get fee and price impact per pool." ("amount" 93)
            or "size slippage price impact loss trade swap";
    }
    Jobs {
        StartJob "start_job" ["a"] "Start a deep analysis of the marked tokens, or of the selected one." ("start" 95) or "analyse analyze deep new run begin";
        Terminate "terminate" ["x"] "Stop the selected job." ("stop" 92) or "stop terminate cancel kill abort";
        ReportJson "report_json" ["v"] "Toggle raw JSON." ("JSON" 101) or "raw json page source";
    }
    Data {
        GroupBy "group_by" ["b"] "Group by a column: count, sum, mean, min, max." ("group by" 89)
            or "aggregate pivot sum mean average total per";
        CountValues "count_values" ["F"] "Count the column's values, most frequent first." ("count" 87)
            or "frequency histogram group distinct unique";
        Describe "describe" ["D"] "Describe the column: count, missing, distinct, quartiles, mean, histogram." ("describe" 86)
            or "summary statistics mean median quartiles distribution profile";
        Findings "findings" ["f"] "Show issues: rejected rows, warnings." ("issues" 88)
            or "problems issues errors warnings rejected rows quality";
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
        assert_eq!(
            (ViewId::Api.next(), ViewId::Tokens.previous()),
            (ViewId::Tokens, ViewId::Api)
        );
    }
}
