//! Protobuf as it lies on the wire: numbered fields, of four types.

use super::ProtobufError;

/// A value, not yet known for what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Datum<'a> {
    /// A number or a truth value.
    Number(u64),
    /// Four or eight bytes; no field of Kubernetes is of this type.
    Fixed,
    /// A text, bytes, a message or several packed numbers.
    Bytes(&'a [u8]),
}

impl<'a> Datum<'a> {
    /// The number it is, in the field of this number.
    pub fn number(self, field: u32) -> Result<u64, ProtobufError> {
        match self {
            Self::Number(number) => Ok(number),
            _ => Err(ProtobufError::WrongType(field)),
        }
    }

    /// The bytes it is.
    pub fn bytes(self, field: u32) -> Result<&'a [u8], ProtobufError> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            _ => Err(ProtobufError::WrongType(field)),
        }
    }

    /// The text it is.
    pub fn text(self, field: u32) -> Result<&'a str, ProtobufError> {
        std::str::from_utf8(self.bytes(field)?).map_err(|_| ProtobufError::NotText(field))
    }
}

/// The fields of a message, in the order they came.
#[derive(Debug)]
pub struct Wire<'a> {
    rest: &'a [u8],
}

impl<'a> Wire<'a> {
    /// Those of this message.
    pub fn of(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    fn field(&mut self) -> Result<(u32, Datum<'a>), ProtobufError> {
        let key = self.varint()?;
        let number = u32::try_from(key >> 3).ok().filter(|number| *number > 0);
        let number = number.ok_or(ProtobufError::Malformed("illegal tag"))?;
        let datum = match key & 7 {
            0 => Datum::Number(self.varint()?),
            1 => self.take(8).map(|_| Datum::Fixed)?,
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| ProtobufError::Truncated)?;
                Datum::Bytes(self.take(length)?)
            }
            5 => self.take(4).map(|_| Datum::Fixed)?,
            _ => return Err(ProtobufError::Malformed("illegal wireType")),
        };
        Ok((number, datum))
    }

    /// Seven bits a byte, the lowest first; the eighth says that more come.
    fn varint(&mut self) -> Result<u64, ProtobufError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(ProtobufError::Malformed("integer overflow"))
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], ProtobufError> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(ProtobufError::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }
}

impl<'a> Iterator for Wire<'a> {
    type Item = Result<(u32, Datum<'a>), ProtobufError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            // Where a field begins that cannot be read, nothing after it can be found.
            self.rest = &[];
        }
        Some(field)
    }
}

/// Several numbers in one field.
pub fn packed(bytes: &[u8]) -> Result<Vec<u64>, ProtobufError> {
    let mut wire = Wire::of(bytes);
    let mut numbers = Vec::new();
    while !wire.rest.is_empty() {
        numbers.push(wire.varint()?);
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Vec<(u32, Datum<'_>)>, ProtobufError> {
        Wire::of(bytes).collect()
    }

    #[test]
    fn fields_of_all_types() {
        let bytes = [0x08, 0xac, 0x02, 0x12, 2, b'h', b'i', 0x1d, 1, 2, 3, 4, 0x21, 1, 2, 3, 4, 5, 6, 7, 8];
        let fields =
            [(1, Datum::Number(300)), (2, Datum::Bytes(b"hi")), (3, Datum::Fixed), (4, Datum::Fixed)];
        assert_eq!(read(&bytes), Ok(fields.to_vec()));
        let minus_one = [[0x08].as_slice(), &[0xff; 9], &[1]].concat();
        assert_eq!(read(&minus_one), Ok(vec![(1, Datum::Number(u64::MAX))]));
        assert_eq!(packed(&[1, 0xac, 0x02]), Ok(vec![1, 300]));
    }

    #[test]
    fn what_cannot_be_read() {
        for (bytes, error) in [
            ([0x08].as_slice(), ProtobufError::Truncated),
            (&[0x12, 5, b'h'], ProtobufError::Truncated),
            (&[0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], ProtobufError::Truncated),
            (&[0x00, 1], ProtobufError::Malformed("illegal tag")),
            (&[0x0b], ProtobufError::Malformed("illegal wireType")),
            (
                &[0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1],
                ProtobufError::Malformed("integer overflow"),
            ),
        ] {
            assert_eq!(read(bytes), Err(error), "{bytes:?}");
        }
    }
}
