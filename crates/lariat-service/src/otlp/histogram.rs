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
    tokens: BTreeMap<String, HistogramData>,
    durations: BTreeMap<String, HistogramData>,
    changed: bool,
}

#[derive(Debug, Default)]
struct HistogramData {
    of: Vec<Attribute>,
    counts: Vec<u64>,
    sum: f64,
}

impl Histograms {
    pub(super) const fn since(since: Timestamp) -> Self {
        Self { since, tokens: BTreeMap::new(), durations: BTreeMap::new(), changed: false }
    }

    pub(super) fn add(&mut self, measured: &Measurement) {
        self.changed = true;
        let (histogram, bounds) = match measured.metric {
            Metric::TokenUsage => (&mut self.tokens, &genai::TOKEN_BUCKETS),
            Metric::OperationDuration => (&mut self.durations, &genai::DURATION_BUCKETS),
        };
        let histogram = histogram.entry(format!("{:?}", measured.attributes)).or_insert_with(|| {
            HistogramData { of: measured.attributes.clone(), counts: vec![0; bounds.len() + 1], sum: 0.0 }
        });
        // A bucket counts values up to its bound; the last one has no bound.
        let bucket = bounds.iter().position(|bound| measured.value <= *bound).unwrap_or(bounds.len());
        if let Some(count) = histogram.counts.get_mut(bucket) {
            *count += 1;
        }
        histogram.sum += measured.value;
    }

    /// All sums, if any changed since the last call.
    pub(super) fn take_changed(&mut self, now: Timestamp) -> Option<Vec<Metrics>> {
        if !std::mem::take(&mut self.changed) {
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
        histogram: &BTreeMap<String, HistogramData>,
        bounds: &[f64],
        now: Timestamp,
    ) -> Metrics {
        let points = histogram.values().map(|histogram| HistogramDataPoint {
            attributes: attributes(&histogram.of),
            start_time_unix_nano: nanos(self.since),
            time_unix_nano: nanos(now),
            count: histogram.counts.iter().sum(),
            sum: Some(histogram.sum),
            bucket_counts: histogram.counts.clone(),
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
