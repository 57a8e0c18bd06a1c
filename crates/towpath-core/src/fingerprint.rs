//! A number for the content of a value, the same for ever: what replay compares inputs by.
//!
//! It goes by structure, not by text: the order of a map's keys or a struct's fields, the width of an integer and
//! the layout of JSON do not matter. A set that serializes as a list in random order does: sort it, or use a map.

use std::fmt;

use serde::Serialize;
use serde::ser::{self, SerializeMap, SerializeSeq, SerializeStruct};

use crate::payload::EncodeError;

/// The fingerprint of a value.
///
/// # Errors
/// The value refuses to be serialized.
///
/// ```
/// use std::collections::{BTreeMap, HashMap};
/// use towpath_core::fingerprint;
/// let sorted = BTreeMap::from([("a", 1_u8), ("b", 2)]);
/// let hashed = HashMap::from([("b", 2_u64), ("a", 1)]);
/// assert_eq!(fingerprint(&sorted).unwrap(), fingerprint(&hashed).unwrap());
/// ```
pub fn fingerprint<T: Serialize + ?Sized>(value: &T) -> Result<u64, EncodeError> {
    value.serialize(Hash).map_err(|e| EncodeError { problem: e.0 })
}

/// One multiplication of 128 bits, folded.
pub(crate) const fn mix(a: u64, b: u64) -> u64 {
    let product = (a ^ 0x9e37_79b9_7f4a_7c15) as u128 * (b ^ 0xd6e8_feb8_6659_fd93) as u128;
    (product as u64) ^ ((product >> 64) as u64)
}

/// The kinds of values, so that an empty list is not an empty text.
const NULL: u64 = 1;
const BOOL: u64 = 2;
const INTEGER: u64 = 3;
const FLOAT: u64 = 4;
const TEXT: u64 = 5;
const BYTES: u64 = 6;
const LIST: u64 = 7;
const MAP: u64 = 8;
const VARIANT: u64 = 9;

fn bytes(kind: u64, bytes: &[u8]) -> u64 {
    let mut hash = mix(kind, bytes.len() as u64);
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        hash = mix(hash, u64::from_le_bytes(word));
    }
    let rest = chunks.remainder();
    if !rest.is_empty() {
        let mut word = [0; 8];
        word[..rest.len()].copy_from_slice(rest);
        hash = mix(hash, u64::from_le_bytes(word));
    }
    hash
}

pub(crate) fn text(text: &str) -> u64 {
    bytes(TEXT, text.as_bytes())
}

fn integer(value: i128) -> u64 {
    mix(mix(INTEGER, value as u64), (value >> 64) as u64)
}

fn variant(name: &str, content: u64) -> u64 {
    mix(mix(VARIANT, text(name)), content)
}

/// Why a value has no fingerprint.
#[derive(Debug)]
struct Refused(String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

impl ser::Error for Refused {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

type Result64 = Result<u64, Refused>;

struct Hash;

/// Elements in order.
struct List {
    hash: u64,
    count: u64,
    name: Option<&'static str>,
}

impl List {
    fn new(name: Option<&'static str>) -> Self {
        Self { hash: LIST, count: 0, name }
    }

    fn add<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refused> {
        self.hash = mix(self.hash, value.serialize(Hash)?);
        self.count += 1;
        Ok(())
    }

    fn end(self) -> Result64 {
        let hash = mix(self.hash, self.count);
        Ok(self.name.map_or(hash, |name| variant(name, hash)))
    }
}

/// Pairs in any order.
struct Map {
    sum: u64,
    count: u64,
    key: u64,
    name: Option<&'static str>,
}

impl Map {
    fn new(name: Option<&'static str>) -> Self {
        Self { sum: 0, count: 0, key: 0, name }
    }

    fn add<T: Serialize + ?Sized>(&mut self, key: u64, value: &T) -> Result<(), Refused> {
        self.sum = self.sum.wrapping_add(mix(key, value.serialize(Hash)?));
        self.count += 1;
        Ok(())
    }

    fn end(self) -> Result64 {
        let hash = mix(mix(MAP, self.sum), self.count);
        Ok(self.name.map_or(hash, |name| variant(name, hash)))
    }
}

impl ser::Serializer for Hash {
    type Ok = u64;
    type Error = Refused;
    type SerializeSeq = List;
    type SerializeTuple = List;
    type SerializeTupleStruct = List;
    type SerializeTupleVariant = List;
    type SerializeMap = Map;
    type SerializeStruct = Map;
    type SerializeStructVariant = Map;

    fn serialize_bool(self, v: bool) -> Result64 {
        Ok(mix(BOOL, u64::from(v)))
    }
    fn serialize_i8(self, v: i8) -> Result64 {
        Ok(integer(v.into()))
    }
    fn serialize_i16(self, v: i16) -> Result64 {
        Ok(integer(v.into()))
    }
    fn serialize_i32(self, v: i32) -> Result64 {
        Ok(integer(v.into()))
    }
    fn serialize_i64(self, v: i64) -> Result64 {
        Ok(integer(v.into()))
    }
    fn serialize_i128(self, v: i128) -> Result64 {
        Ok(integer(v))
    }
    fn serialize_u8(self, v: u8) -> Result64 {
        Ok(integer(v.into()))
    }
    fn serialize_u16(self, v: u16) -> Result64 {
        Ok(integer(v.into()))
    }
    fn serialize_u32(self, v: u32) -> Result64 {
        Ok(integer(v.into()))
    }
    fn serialize_u64(self, v: u64) -> Result64 {
        Ok(integer(v.into()))
    }
    fn serialize_u128(self, v: u128) -> Result64 {
        Ok(integer(v as i128))
    }
    fn serialize_f32(self, v: f32) -> Result64 {
        self.serialize_f64(v.into())
    }
    fn serialize_f64(self, v: f64) -> Result64 {
        // Zero has two signs and NaN many forms; JSON keeps neither.
        let bits = if v == 0.0 { 0 } else { v.to_bits() };
        Ok(if v.is_finite() { mix(FLOAT, bits) } else { mix(NULL, 0) })
    }
    fn serialize_char(self, v: char) -> Result64 {
        Ok(text(v.encode_utf8(&mut [0; 4])))
    }
    fn serialize_str(self, v: &str) -> Result64 {
        Ok(text(v))
    }
    fn serialize_bytes(self, v: &[u8]) -> Result64 {
        Ok(bytes(BYTES, v))
    }
    fn serialize_none(self) -> Result64 {
        Ok(mix(NULL, 0))
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result64 {
        value.serialize(self)
    }
    fn serialize_unit(self) -> Result64 {
        Ok(mix(NULL, 0))
    }
    fn serialize_unit_struct(self, _name: &'static str) -> Result64 {
        Ok(mix(NULL, 0))
    }
    fn serialize_unit_variant(self, _name: &'static str, _at: u32, name: &'static str) -> Result64 {
        Ok(text(name))
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _name: &'static str, value: &T) -> Result64 {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _at: u32,
        name: &'static str,
        value: &T,
    ) -> Result64 {
        Ok(variant(name, value.serialize(self)?))
    }
    fn serialize_seq(self, _len: Option<usize>) -> Result<List, Refused> {
        Ok(List::new(None))
    }
    fn serialize_tuple(self, _len: usize) -> Result<List, Refused> {
        Ok(List::new(None))
    }
    fn serialize_tuple_struct(self, _name: &'static str, _len: usize) -> Result<List, Refused> {
        Ok(List::new(None))
    }
    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _at: u32,
        name: &'static str,
        _len: usize,
    ) -> Result<List, Refused> {
        Ok(List::new(Some(name)))
    }
    fn serialize_map(self, _len: Option<usize>) -> Result<Map, Refused> {
        Ok(Map::new(None))
    }
    fn serialize_struct(self, _name: &'static str, _len: usize) -> Result<Map, Refused> {
        Ok(Map::new(None))
    }
    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _at: u32,
        name: &'static str,
        _len: usize,
    ) -> Result<Map, Refused> {
        Ok(Map::new(Some(name)))
    }
}

impl SerializeSeq for List {
    type Ok = u64;
    type Error = Refused;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refused> {
        self.add(value)
    }
    fn end(self) -> Result64 {
        self.end()
    }
}

impl ser::SerializeTuple for List {
    type Ok = u64;
    type Error = Refused;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refused> {
        self.add(value)
    }
    fn end(self) -> Result64 {
        self.end()
    }
}

impl ser::SerializeTupleStruct for List {
    type Ok = u64;
    type Error = Refused;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refused> {
        self.add(value)
    }
    fn end(self) -> Result64 {
        self.end()
    }
}

impl ser::SerializeTupleVariant for List {
    type Ok = u64;
    type Error = Refused;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refused> {
        self.add(value)
    }
    fn end(self) -> Result64 {
        self.end()
    }
}

impl SerializeMap for Map {
    type Ok = u64;
    type Error = Refused;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Refused> {
        self.key = key.serialize(Hash)?;
        Ok(())
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refused> {
        self.add(self.key, value)
    }
    fn end(self) -> Result64 {
        self.end()
    }
}

impl SerializeStruct for Map {
    type Ok = u64;
    type Error = Refused;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Refused> {
        self.add(text(key), value)
    }
    fn end(self) -> Result64 {
        self.end()
    }
}

impl ser::SerializeStructVariant for Map {
    type Ok = u64;
    type Error = Refused;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Refused> {
        self.add(text(key), value)
    }
    fn end(self) -> Result64 {
        self.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn of<T: Serialize>(value: T) -> u64 {
        fingerprint(&value).unwrap()
    }

    #[derive(Serialize)]
    struct Ab {
        a: u8,
        b: &'static str,
    }

    #[derive(Serialize)]
    struct Ba {
        b: String,
        a: i64,
    }

    #[test]
    fn order_and_width_do_not_matter() {
        assert_eq!(of(Ab { a: 7, b: "x" }), of(Ba { b: "x".into(), a: 7 }));
        let one: HashMap<u32, u32> = (0..1_000).map(|n| (n, n * n)).collect();
        let other: HashMap<u64, i64> = (0..1_000).rev().map(|n| (n, (n * n) as i64)).collect();
        assert_eq!(of(one), of(other));
        assert_eq!(of(Some(3_u8)), of(3_i128));
    }

    #[test]
    fn content_matters() {
        let values = [
            of(()),
            of(false),
            of(true),
            of(0),
            of(1),
            of(-1),
            of(u64::MAX),
            of(0.0),
            of(1.5),
            of(""),
            of("a"),
            of("aaaaaaaaa"),
            of([0_u8; 0]),
            of([0]),
            of([0, 0]),
            of([[0], [0]]),
            of(HashMap::from([("a", 1), ("b", 2)])),
            of(HashMap::from([("a", 2), ("b", 1)])),
            of(Result::<u8, u8>::Ok(1)),
            of(Result::<u8, u8>::Err(1)),
        ];
        let mut unique = values.to_vec();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), values.len(), "{values:x?}");
    }

    #[test]
    fn it_is_the_same_for_ever() {
        assert_eq!(format!("{:016x}", of(("ann", 7, Ab { a: 1, b: "x" }))), FOR_EVER);
    }

    /// Stored journals hold such numbers: a change of this one is a change of the format.
    const FOR_EVER: &str = "5578ca73707a3396";
}
