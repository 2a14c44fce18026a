//! THE endpoint table, read by the router, the OpenAPI document, the MCP tools and the metrics. A query is one line of it. Request
//! checks and answers are decided elsewhere.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::endpoint::Handler::{self, Body, Plain};
pub use super::endpoint::{Content, Endpoint, Verb};
use super::{
    batch,
    datasets::Datasets,
    docs,
    format::{REPORT_FORMAT, WithFormat},
    handlers::{self, Health},
    mcp, openapi, stream,
};
use model::error::Code;
use query::{
    jobs::{Alert, AlertList, FIRED_ID_MAX, Job, JobBody, JobList, Report},
    queries::{
        Query,
        alert_body::AlertBody,
        batch::{CandleBatchQuery, SecurityBatchQuery, TokenBatchQuery},
        candles::CandlesQuery,
        clusters::ClustersQuery,
        compare::CompareQuery,
        dexes::{AllDexesQuery, DexDetailQuery, DexListQuery},
        flows::TokenFlowsQuery,
        growth::GrowthQuery,
        held::HeldTokensQuery,
        holders::{HolderCountsQuery, HoldersQuery},
        indicators::IndicatorsQuery,
        list,
        parameter::{PAGE, Parameter, ParameterKind, parameter},
        patterns::PatternsQuery,
        pools::PoolsQuery,
        posts::{PostsQuery, TokenPostsQuery},
        posts_record::PostsRecordQuery,
        rehearsal::RehearsalQuery,
        request::Request,
        security::SecurityQuery,
        security_record::SecurityRecordQuery,
        tables::{
            TableQuery, TablesQuery,
            column::{CountsQuery, DescribeQuery},
        },
        tabular::Tabular,
        token::TokenQuery,
        tokens::{Tokens, TokensQuery},
        track_record::{TrackRecordQuery, WholeRecordQuery},
        trendline::TrendlineQuery,
        yields::{YieldBody, YieldQuery},
    },
};

pub const ENDPOINTS: &[Endpoint] = &[
    question::<TokenQuery>("tokens", &[]),
    question::<TokenPostsQuery>("tokens", &[]),
    question::<TrendlineQuery>("technical", &[Code::NoCandles]),
    question::<SecurityQuery>("security", &[Code::NoSecurityData]),
    question::<PatternsQuery>("technical", &[Code::NoCandles]),
    question::<DexListQuery>("dexes", &[]),
    question::<DexDetailQuery>("dexes", &[Code::DexNotFound]),
    question::<GrowthQuery>("analytics", &[]),
    Endpoint {
        path: "/api/analytics/tokens/holders-growth",
        name: "api_holders_growth",
        tool: false,
        ..question::<GrowthQuery>("analytics", &[])
    },
    Endpoint {
        verb: Verb::Post,
        tagged: false,
        body: Some(SchemaGenerator::subschema_for::<YieldBody>),
        handler: Body(handlers::ask_with_body::<YieldQuery>),
        ..question::<YieldQuery>("yield", &[Code::DuplicateToken])
    },
    Endpoint {
        summary: "Search and list tokens, or get up to 100 by `addresses`.",
        parameters: &joined::<{ TokensQuery::PARAMETERS.len() + 2 }>(
            WithFormat::<TokensQuery>::PARAMETERS,
            TokenBatchQuery::PARAMETERS,
        ),
        content: Content::Json(list_or_batch),
        handler: Plain(batch::tokens),
        ..list::<TokensQuery>("tokens", &[Code::InvalidAddress])
    },
    list::<CandlesQuery>("tokens", &[Code::NoCandles]),
    list::<IndicatorsQuery>("technical", &[Code::NoCandles]),
    question::<TrackRecordQuery>("technical", &[Code::NoCandles]),
    // As a tool it is `track_record` with its scope.
    Endpoint {
        tool: false,
        ..question::<WholeRecordQuery>("technical", &[])
    },
    list::<HoldersQuery>("tokens", &[]),
    list::<HolderCountsQuery>("tokens", &[]),
    question::<TokenFlowsQuery>("tokens", &[]),
    question::<ClustersQuery>("tokens", &[]),
    list::<HeldTokensQuery>("tokens", &[Code::TableNotFound]),
    list::<PostsQuery>("tokens", &[]),
    question::<PostsRecordQuery>("tokens", &[]),
    list::<AllDexesQuery>("dexes", &[]),
    list::<PoolsQuery>("dexes", &[]),
    question::<CandleBatchQuery>("tokens", &[]),
    Endpoint {
        parameters: &joined::<{ SecurityBatchQuery::PARAMETERS.len() + 1 }>(
            SecurityBatchQuery::PARAMETERS,
            &[batch::FORMAT],
        ),
        handler: Plain(batch::security),
        ..question::<SecurityBatchQuery>("security", &[])
    },
    question::<SecurityRecordQuery>("security", &[]),
    question::<CompareQuery>("tokens", &[Code::NoCandles, Code::TokenNotFound]),
    question::<TablesQuery>("tables", &[]),
    list::<TableQuery>("tables", &[Code::TableNotFound]),
    question::<CountsQuery>("tables", &[Code::TableNotFound]),
    question::<DescribeQuery>("tables", &[Code::TableNotFound]),
    Endpoint {
        tool: true,
        parameters: &[],
        codes: &[],
        status: 202,
        body: Some(SchemaGenerator::subschema_for::<JobBody>),
        ..job::<Job>(
            Verb::Post,
            "/deep-analysis/jobs",
            "create_job",
            "Start a deep analysis of one or several tokens: six tasks each.",
            Body(handlers::create_job),
        )
    },
    Endpoint {
        tool: true,
        codes: &[],
        parameters: &[
            list::conditions::<Job>(),
            list::sort::<Job>(None, list::SORT),
            list::only::<Job>(),
            PAGE,
            parameter(
                "limit",
                ParameterKind::Integer {
                    min: 1,
                    max: 250,
                    default: 50,
                },
                "Jobs per page.",
            ),
        ],
        ..job::<JobList>(
            Verb::Get,
            "/deep-analysis/jobs",
            "jobs",
            "List jobs, newest first.",
            Plain(handlers::list_jobs),
        )
    },
    job::<Job>(
        Verb::Get,
        "/deep-analysis/jobs/{job_id}",
        "job",
        "Get a job.",
        Plain(handlers::job),
    ),
    Endpoint {
        codes: &[Code::JobNotFound, Code::JobEnded],
        parameters: &[
            JOB,
            parameter(
                "purge",
                ParameterKind::Flag,
                "Delete the job and its results, even if it has not ended.",
            ),
        ],
        no_content: Some("With `purge`: the job was deleted."),
        ..job::<Job>(
            Verb::Delete,
            "/deep-analysis/jobs/{job_id}",
            "terminate_job",
            "Stop a job.",
            Plain(handlers::terminate_job),
        )
    },
    Endpoint {
        tool: true,
        parameters: &[JOB, REPORT_FORMAT],
        codes: &[Code::JobNotFound, Code::Loading],
        ..job::<Report>(
            Verb::Get,
            "/deep-analysis/jobs/{job_id}/report",
            "job_report",
            "Get a job's report; partial while it runs.",
            Plain(handlers::report),
        )
    },
    Endpoint {
        tool: true,
        parameters: &[
            parameter(
                "limit",
                ParameterKind::Integer {
                    min: 1,
                    max: 1_000,
                    default: 100,
                },
                "Number of latest triggers.",
            ),
            parameter(
                "before",
                FIRED_ID,
                "Only triggers before this `fired_id`, for the next page.",
            ),
        ],
        ..alert(
            Verb::Get,
            "/alerts",
            "alerts",
            "List alerts and recent triggers.",
            Plain(handlers::alerts),
        )
    },
    Endpoint {
        tool: true,
        codes: &[Code::Loading, Code::SourceUnavailable],
        status: 201,
        body: Some(SchemaGenerator::subschema_for::<AlertBody>),
        content: shape::<Alert>(),
        ..alert(
            Verb::Post,
            "/alerts",
            "add_alert",
            ADD_ALERT,
            Body(handlers::add_alert),
        )
    },
    Endpoint {
        verb: Verb::Post,
        tagged: false,
        body: Some(SchemaGenerator::subschema_for::<AlertBody>),
        handler: Body(handlers::ask_with_body::<RehearsalQuery>),
        ..question::<RehearsalQuery>("alerts", &[Code::TokenNotFound])
    },
    Endpoint {
        parameters: &[parameter(
            "alert_id",
            ParameterKind::Identifier,
            "Alert id, as returned when it was created.",
        )],
        codes: &[Code::AlertNotFound],
        status: 204,
        content: Content::Nothing,
        ..alert(
            Verb::Delete,
            "/alerts/{alert_id}",
            "remove_alert",
            "Delete an alert; its trigger history remains.",
            Plain(handlers::remove_alert),
        )
    },
    Endpoint {
        verb: Verb::Post,
        codes: &[Code::Loading, Code::SourceUnavailable, Code::Cancelled],
        body: Some(mcp::message_schema),
        ..plain("/mcp", "mcp", MCP, Content::Document, Body(mcp::answer))
    },
    plain(
        "/events",
        "events",
        "Stream server-sent events; `Last-Event-ID` resumes.",
        Content::Events,
        Plain(stream::open),
    ),
    Endpoint {
        tool: true,
        as_of: true,
        codes: &[Code::Loading],
        ..plain(
            "/datasets",
            "datasets",
            "Get loaded tables, sources and issues.",
            shape::<Datasets>(),
            Plain(handlers::datasets),
        )
    },
    Endpoint {
        open: true,
        ..plain(
            "/healthz",
            "healthz",
            "Check that the server is up and has data.",
            shape::<Health>(),
            Plain(handlers::healthz),
        )
    },
    Endpoint {
        open: true,
        tagged: true,
        ..plain(
            "/openapi.json",
            "openapi",
            "Get this document.",
            Content::Document,
            Plain(openapi::answer),
        )
    },
    Endpoint {
        open: true,
        tagged: true,
        ..plain(
            "/docs",
            "docs",
            "Browse this document.",
            Content::Text(docs::HTML),
            Plain(docs::page),
        )
    },
    Endpoint {
        open: true,
        tagged: true,
        parameters: &[docs::FILE],
        ..plain(
            "/docs/{file}",
            "docs_file",
            "Get an asset of the documentation page.",
            Content::Files(docs::FILES),
            Plain(docs::file),
        )
    },
    plain(
        "/metrics",
        "metrics",
        "Get Prometheus metrics.",
        Content::Text("text/plain; version=0.0.4"),
        Plain(handlers::metrics),
    ),
];

/// Concatenates two parameter lists at compile time.
const fn joined<const N: usize>(first: &[Parameter], second: &[Parameter]) -> [Parameter; N] {
    let mut all = [first[0]; N];
    let mut i = 0;
    while i < N {
        all[i] = if i < first.len() {
            first[i]
        } else {
            second[i - first.len()]
        };
        i += 1;
    }
    all
}

/// Schema of GET /tokens: the list, or the batch.
fn list_or_batch(schemas: &mut SchemaGenerator) -> Schema {
    let shapes = [
        schemas.subschema_for::<Tokens>(),
        openapi::answer_schema::<TokenBatchQuery>(schemas),
    ];
    json_schema!({ "anyOf": shapes })
}

const fn question<Q: Query>(tag: &'static str, codes: &'static [Code]) -> Endpoint {
    Endpoint {
        verb: Verb::Get,
        path: Q::PATH,
        name: Q::NAME,
        summary: Q::SUMMARY,
        tag,
        tool: true,
        as_of: true,
        parameters: Q::PARAMETERS,
        codes,
        status: 200,
        no_content: None,
        content: Content::Json(openapi::answer_schema::<Q>),
        open: false,
        tagged: true,
        body: None,
        handler: Plain(handlers::ask::<Q>),
    }
}

/// A list query, available in every row format.
const fn list<Q: Tabular>(tag: &'static str, codes: &'static [Code]) -> Endpoint {
    Endpoint {
        parameters: WithFormat::<Q>::PARAMETERS,
        handler: Plain(handlers::list::<Q>),
        ..question::<Q>(tag, codes)
    }
}

/// Defaults to an id greater than any firing's, so that the latest come first.
const FIRED_ID: ParameterKind = ParameterKind::Integer {
    min: 1,
    max: FIRED_ID_MAX,
    default: FIRED_ID_MAX,
};

const JOB: Parameter = parameter(
    "job_id",
    ParameterKind::Identifier,
    "Job id, as returned when it was created.",
);

const fn job<A: JsonSchema>(
    verb: Verb,
    path: &'static str,
    name: &'static str,
    summary: &'static str,
    handler: Handler,
) -> Endpoint {
    let codes = &[Code::JobNotFound];
    Endpoint {
        verb,
        codes,
        tag: "deep analysis",
        parameters: &[JOB],
        ..plain(path, name, summary, shape::<A>(), handler)
    }
}

const ADD_ALERT: &str = "Create an alert that fires when its condition becomes true.";

const MCP: &str = "Call MCP tools over streamable HTTP, without sessions.";

const fn alert(
    verb: Verb,
    path: &'static str,
    name: &'static str,
    summary: &'static str,
    handler: Handler,
) -> Endpoint {
    Endpoint {
        verb,
        tag: "alerts",
        ..plain(path, name, summary, shape::<AlertList>(), handler)
    }
}

const fn plain(
    path: &'static str,
    name: &'static str,
    summary: &'static str,
    content: Content,
    handler: Handler,
) -> Endpoint {
    Endpoint {
        verb: Verb::Get,
        path,
        name,
        summary,
        tag: "service",
        tool: false,
        as_of: false,
        parameters: &[],
        codes: &[],
        status: 200,
        no_content: None,
        content,
        open: false,
        tagged: false,
        body: None,
        handler,
    }
}

const fn shape<A: JsonSchema>() -> Content {
    Content::Json(SchemaGenerator::subschema_for::<A>)
}
