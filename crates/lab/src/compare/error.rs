//! The errors of comparisons.

use crate::algorithm::AlgorithmError;
use crate::error::LabError;
use crate::options::OptionsError;
use std::error::Error;

/// Why a comparison cannot start or finish.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    #[error(transparent)]
    Lab(#[from] LabError),
    /// An option is invalid.
    #[error("{0}")]
    InvalidOption(String),
    /// A run with real processes failed.
    #[error(transparent)]
    Real(Box<dyn Error + Send + Sync>),
}

impl CompareError {
    /// Returns [`Self::InvalidOption`] with this sentence, as the `Err` of any result.
    pub(crate) fn invalid_option<T>(sentence: impl Into<String>) -> Result<T, Self> {
        Err(Self::InvalidOption(sentence.into()))
    }
}

impl From<AlgorithmError> for CompareError {
    fn from(error: AlgorithmError) -> Self {
        Self::Lab(error.into())
    }
}

impl From<OptionsError> for CompareError {
    fn from(error: OptionsError) -> Self {
        Self::Lab(error.into())
    }
}
