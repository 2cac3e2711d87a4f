//! Sums measurements in histograms.
//!
//! Sums are cumulative, which is the collectors' default, so that a lost request delays data but loses none.

use std::collections::BTreeMap;

use lariat_core::time::Timestamp;
use lariat_runtime::trace::{Attribute, Measurement, Metric, genai};
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Histogram, HistogramDataPoint, Metric as Metrics, metric,
};

use super::encode::{attributes, nanos};

#[derive(Debug)]
pub(super) struct Histograms {
    since: Timestamp,
    tokens: BTreeMap<String, Counted>,
    durations: BTreeMap<String, Counted>,
    news: bool,
}

#[derive(Debug, Default)]
struct Counted {
    of: Vec<Attribute>,
    counts: Vec<u64>,
    sum: f64,
}

impl Histograms {
    pub(super) const fn since(since: Timestamp) -> Self {
        Self { since, tokens: BTreeMap::new(), durations: BTreeMap::new(), news: false }
    }

    pub(super) fn add(&mut self, measured: &Measurement) {
        self.news = true;
        let (counted, bounds) = match measured.metric {
            Metric::TokenUsage => (&mut self.tokens, &genai::TOKEN_BUCKETS),
            Metric::OperationDuration => (&mut self.durations, &genai::DURATION_BUCKETS),
        };
        let counted = counted.entry(format!("{:?}", measured.attributes)).or_insert_with(|| Counted {
            of: measured.attributes.clone(),
            counts: vec![0; bounds.len() + 1],
            sum: 0.0,
        });
        // A bucket counts values up to its bound; the last one has no bound.
        let bucket = bounds.iter().position(|bound| measured.value <= *bound).unwrap_or(bounds.len());
        if let Some(count) = counted.counts.get_mut(bucket) {
            *count += 1;
        }
        counted.sum += measured.value;
    }

    /// All sums, if any changed since the last call.
    pub(super) fn take_news(&mut self, now: Timestamp) -> Option<Vec<Metrics>> {
        if !std::mem::take(&mut self.news) {
            return None;
        }
        let tokens = self.metric(
            (genai::METRIC_TOKEN_USAGE, "Tokens used by model requests.", "{token}"),
            &self.tokens,
            &genai::TOKEN_BUCKETS,
            now,
        );
        let durations = self.metric(
            (genai::METRIC_OPERATION_DURATION, "Duration of runs, model requests and tools.", "s"),
            &self.durations,
            &genai::DURATION_BUCKETS,
            now,
        );
        Some(vec![tokens, durations])
    }

    fn metric(
        &self,
        (name, description, unit): (&str, &str, &str),
        counted: &BTreeMap<String, Counted>,
        bounds: &[f64],
        now: Timestamp,
    ) -> Metrics {
        let points = counted.values().map(|counted| HistogramDataPoint {
            attributes: attributes(&counted.of),
            start_time_unix_nano: nanos(self.since),
            time_unix_nano: nanos(now),
            count: counted.counts.iter().sum(),
            sum: Some(counted.sum),
            bucket_counts: counted.counts.clone(),
            explicit_bounds: bounds.to_vec(),
            ..HistogramDataPoint::default()
        });
        let histogram = Histogram {
            data_points: points.collect(),
            aggregation_temporality: AggregationTemporality::Cumulative.into(),
        };
        Metrics {
            name: name.to_owned(),
            description: description.to_owned(),
            unit: unit.to_owned(),
            data: Some(metric::Data::Histogram(histogram)),
            ..Metrics::default()
        }
    }
}
