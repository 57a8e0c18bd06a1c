//! What an application gives its worker for its handlers, by type.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

/// Values by type. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct States {
    by_type: Arc<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

impl States {
    /// Adds a value, in place of another of its type.
    pub(crate) fn insert<T: Send + Sync + 'static>(&mut self, value: T) {
        Arc::make_mut(&mut self.by_type).insert(TypeId::of::<T>(), Arc::new(value));
    }

    pub(crate) fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.by_type.get(&TypeId::of::<T>())?.clone().downcast().ok()
    }
}
