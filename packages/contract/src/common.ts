/**
 * Pieces that several schemas share: closed objects, string maps, times, paging
 * (docs/reference/http.md#lists).
 *
 * Bodies are closed: an unknown field is refused by its path, never dropped. Schemas check shape,
 * presence and size; what a string means (an address, a URL, a time) is checked by the server,
 * which can say more than "does not match the format". No schema has a `default`: a validator
 * that fills defaults in would turn what an update leaves out into a change.
 */
import { type Static, type TProperties, type TSchema, Type } from 'typebox'

/** An object without unknown fields. */
export function closedObject<P extends TProperties>(
  properties: P,
  options: { readonly description?: string } = {},
) {
  return Type.Object(properties, { ...options, additionalProperties: false })
}

/** Marks an object of which an update says only what changes. */
export const partialKeyword = 'x-partial'

/**
 * The body of an update, or an object within one: what is left out stays as it is, so null is not the
 * same as that. A field that can be removed takes null (`orNull`), and so does one that concerns the
 * request alone; any other refuses it (docs/reference/http.md#requests).
 */
export function changes<P extends TProperties>(
  properties: P,
  options: { readonly description?: string } = {},
) {
  return Type.Object(properties, {
    ...options,
    additionalProperties: false,
    [partialKeyword]: true,
  })
}

/** Of a field of `changes`. */
export function orNull<S extends TSchema>(schema: S) {
  const { description } = schema as { readonly description?: string }
  return Type.Union([schema, Type.Null()], description === undefined ? {} : { description })
}

/**
 * A map of strings. Not `Type.Record`: its key pattern `^.*$` lets a name with a line break pass
 * with any value.
 */
export function stringMap(options: {
  readonly description: string
  readonly maxProperties?: number
  readonly examples?: readonly Record<string, string>[]
}) {
  return Type.Unsafe<Record<string, string>>({
    type: 'object',
    additionalProperties: { type: 'string' },
    ...options,
  })
}

/** A JSON object of the caller's own, kept and echoed as it is. */
export type JsonObject = Record<string, unknown>

export function jsonObject(options: {
  readonly description: string
  readonly examples?: readonly JsonObject[]
}) {
  return Type.Unsafe<JsonObject>({
    type: 'object',
    additionalProperties: true,
    ...options,
  })
}

export function jsonObjectOrNull(options: {
  readonly description: string
  readonly examples?: readonly JsonObject[]
}) {
  return Type.Unsafe<JsonObject | null>({
    type: ['object', 'null'],
    additionalProperties: true,
    ...options,
  })
}

/** Id of a received message, as a filter: any text, so that an unknown one finds nothing. */
export const inboundIdFilter = Type.String({
  description:
    'Id of a received message, as `INCOMING_EMAIL` has it. One that is unknown or malformed finds nothing',
  examples: ['in_01JD4M8W6ZQ3V5T7X9Y2A4C6E8'],
})

export const inboundId = Type.String({
  maxLength: 64,
  description: 'Of the message, as `INCOMING_EMAIL` has it',
  examples: ['in_01JD4M8W6ZQ3V5T7X9Y2A4C6E8'],
})

/** Reference id of an email, as a filter or in a list: any text, so that an unknown one finds nothing. */
export const refId = Type.String({
  description: 'Reference id of an email',
  examples: ['01JD4M8W6ZQ3V5T7X9Y2A4C6E8'],
})

/** The same as a filter. */
export const refIdFilter = Type.String({
  description: 'Reference id of an email. One that is unknown or malformed finds nothing',
  examples: ['01JD4M8W6ZQ3V5T7X9Y2A4C6E8'],
})

/**
 * A bound of a span of time, as filters take it (docs/reference/statuses.md#log-filters); what it means is
 * read by the server.
 */
export function timeOrDate(description: string) {
  return Type.String({
    minLength: 1,
    maxLength: 64,
    description: `${description}: RFC 3339, or a date for the whole day (UTC)`,
    examples: ['2026-11-20T18:00:00Z'],
  })
}

export function stringOrNull(description: string) {
  return Type.Unsafe<string | null>({ type: ['string', 'null'], description })
}

/** RFC 3339 in UTC, with milliseconds. */
export function timestamp(description: string) {
  return Type.String({ format: 'date-time', description, examples: ['2026-11-20T13:01:02.123Z'] })
}

export function timestampOrNull(description: string) {
  return Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date-time', description })
}

/** RFC 3339 in UTC, with microseconds: the ordering key of events. */
export function eventTime(description: string) {
  return Type.String({
    format: 'date-time',
    description,
    examples: ['2026-11-20T13:01:02.123456Z'],
  })
}

/** The answer of an operation: `success`, `message` and what is its own. */
export function answer<P extends TProperties>(
  properties: P,
  options: { readonly description?: string } = {},
) {
  return closedObject(
    {
      success: Type.Literal(true, { description: 'It was done' }),
      message: Type.String({ description: 'What was done, for a person' }),
      ...properties,
    },
    options,
  )
}

export const plainAnswer = answer({})
export type PlainAnswer = Static<typeof plainAnswer>

export const pageSizeMax = 500
export const pageSizeDefault = 50

export const pageQuery = closedObject({
  pageSize: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: pageSizeMax,
      description: 'How many entries a page holds at most; 50 when left out',
    }),
  ),
  pageToken: Type.Optional(
    Type.String({
      maxLength: 1024,
      description: '`nextPageToken` of the page before',
    }),
  ),
})
export type PageQuery = Static<typeof pageQuery>

export const nextPageToken = Type.Optional(
  Type.String({ description: 'Opaque; absent on the last page' }),
)

/** Of opens and clicks that are counted. */
export const peopleOnly =
  'Those of programs are not counted, as far as they are recognised; they are events with `bot`'
