//! Conversion: the same object in another version of its kind, for API servers that store one and are asked for
//! another.

use kube::core::Status;
use kube::core::conversion::{ConversionRequest, ConversionResponse, ConversionReview};
use lockstep_dialects::Dialect;
use serde_json::Value;

/// Answers a review, or says why it is none.
pub fn answer(body: &[u8], dialects: &[&'static dyn Dialect]) -> Result<ConversionReview, String> {
    let review: ConversionReview =
        serde_json::from_slice(body).map_err(|error| format!("not a ConversionReview: {error}"))?;
    let request = ConversionRequest::from_review(review).map_err(|error| error.to_string())?;
    let to = &request.desired_api_version;
    let converted: Result<Vec<Value>, String> =
        request.objects.iter().map(|object| convert(object, to, dialects)).collect();
    let response = ConversionResponse::for_request(request);
    Ok(match converted {
        Ok(objects) => response.success(objects),
        Err(why) => response.failure(Status::failure(&why, "Invalid").with_code(422)),
    }
    .into_review())
}

fn convert(object: &Value, to: &str, dialects: &[&'static dyn Dialect]) -> Result<Value, String> {
    let is_of = |dialect: &&&'static dyn Dialect| dialect.kinds().iter().any(|kind| kind.is_of(object));
    let name = || format!("{} {}", object["kind"], object["metadata"]["name"]).replace('"', "");
    let dialect = dialects.iter().find(is_of).ok_or_else(|| format!("{}: nobody serves its kind", name()))?;
    let mut converted = dialect.convert(object, to).map_err(|why| format!("{}: {why}", name()))?;
    // An API server takes back what it gave, but for labels and annotations.
    let metadata = &mut converted["metadata"];
    let (labels, annotations) = (metadata["labels"].take(), metadata["annotations"].take());
    let mut kept = object["metadata"].clone();
    for (field, value) in [("labels", labels), ("annotations", annotations)] {
        if value.is_null() {
            kept.as_object_mut().and_then(|kept| kept.remove(field));
        } else {
            kept[field] = value;
        }
    }
    *metadata = kept;
    Ok(converted)
}
