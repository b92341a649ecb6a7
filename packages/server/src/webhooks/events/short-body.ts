/**
 * How the log keeps the body of an event: a phrase that most bodies have is one control character, which JSON
 * never holds as it is; so are the email's id and the time, which the row has beside it. All else stays as it is
 * written, so that SQL finds an address or a mailer in it. docs/adr/0035-keep-events-short.md
 *
 * Rows are as old as retention allows: what the characters of a version stand for never changes. Other phrases
 * are another version, with another first character.
 */
const VERSION = '\x01'
const REF_ID = '\x02'
const EVENT_AT = '\x03'

const HEAD = '"details":{"webhook_id":"","ref_id":"'
const NO_PLACE =
  '","country":"","city":"","region":"","time_zone":"","bot":false},"failed_reason":"'
const NO_READER =
  '","ip":"","user_agent":"","browser_name":"","browser_version":"","os":"","device_type":"","platform":"'
const WEBKIT = 'AppleWebKit/605.1.15 (KHTML, like Gecko)'

/**
 * From \x04 on, by place. None takes a quote of an address or of a mailer's id, and none fits into an address
 * without quotes.
 */
const PHRASES = [
  `{"event":"MAIL_DELIVERED","success":true,${HEAD}`,
  `{"event":"MAIL_OPENED","success":true,${HEAD}`,
  `{"event":"MAIL_CLICKED","success":true,${HEAD}`,
  `","success":false,${HEAD}`,
  '","mailer_id":',
  ',"email":[',
  '],"custom_args":',
  '],"custom_args":null,"message_id":',
  ',"message_id":',
  ',"thread_id":"","tracking":{"time":"',
  `${NO_READER}${NO_PLACE}`,
  '","ip":"',
  '","user_agent":"',
  '","browser_name":"',
  '","browser_version":"',
  '","os":"',
  '","device_type":"',
  '","platform":"',
  '","url":"',
  NO_PLACE,
  '","country":"',
  '","event_at":"',
  'Mozilla/5.0 (',
  'Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/',
  ' AppleWebKit/537.36 (KHTML, like Gecko) Chrome/',
  '.0.0.0 Safari/537.36',
  `Macintosh; Intel Mac OS X 10_15_7) ${WEBKIT}`,
  ` like Mac OS X) ${WEBKIT}`,
] as const

const FIRST_CODE = 4
const codeOf = new Map<string, string>(
  PHRASES.map((phrase, i) => [phrase, String.fromCharCode(FIRST_CODE + i)]),
)
const phraseOf = new Map([...codeOf].map(([phrase, code]) => [code, phrase]))

/** Where two begin at one place, the longer one. */
const ANY_PHRASE = new RegExp(
  [...PHRASES]
    .sort((a, b) => b.length - a.length)
    .map((phrase) => phrase.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('|'),
  'g',
)
/** All that comes before the space, which is what JSON escapes. */
const CONTROL = /[^ -\uffff]/g

/** Longer ones, such as received mail, are no longer for these phrases. PostgreSQL compresses them. */
const CHARS_MAX = 4096
/** Such an address is free to hold a phrase, and would not be found. */
const QUOTED_ADDRESS = ',"email":["\\"'
const TIME = /^(?!0000)\d{4}-[\d-]{5}T[\d:]{8}\.\d{6}Z$/

export interface BodyInRow {
  readonly body: string
  /** Of the JSON. 0: the body is the JSON itself. */
  readonly octets: number
}

export interface RowOfBody extends BodyInRow, BesideBody {}

interface BesideBody {
  readonly refId: string
  /** RFC 3339 with microseconds. */
  readonly eventAt: string
}

export function shortenBody(json: string, { refId, eventAt }: BesideBody): BodyInRow {
  const isAsItIs =
    json.length > CHARS_MAX || json.includes(QUOTED_ADDRESS) || json.search(CONTROL) >= 0
  if (isAsItIs) return { body: json, octets: 0 }
  let body = json
  if (TIME.test(eventAt)) body = body.replaceAll(`"${eventAt}"`, `"${EVENT_AT}"`)
  if (refId !== '')
    body = body.replaceAll(`"${refId}"`, `"${REF_ID}"`).replaceAll(`"<${refId}.`, `"<${REF_ID}.`)
  body = VERSION + body.replace(ANY_PHRASE, (phrase) => codeOf.get(phrase) ?? phrase)
  return body.length < json.length
    ? { body, octets: Buffer.byteLength(json) }
    : { body: json, octets: 0 }
}

/** The JSON that was shortened, byte by byte. */
export function readBody({ body, octets, refId, eventAt }: RowOfBody): string {
  if (octets === 0) return body
  const damaged = (what: string) =>
    new Error(`the stored body of an event of ${JSON.stringify(refId)} at ${eventAt} ${what}`)
  if (!body.startsWith(VERSION)) throw damaged('is of a version that this program does not know')
  const json = body.slice(VERSION.length).replace(CONTROL, (code) => {
    if (code === REF_ID) return refId
    if (code === EVENT_AT) return eventAt
    const phrase = phraseOf.get(code)
    if (phrase === undefined) throw damaged('is damaged: it has a character that means nothing')
    return phrase
  })
  const found = Buffer.byteLength(json)
  if (found !== octets) throw damaged(`is damaged: it has ${found} of ${octets} bytes`)
  return json
}

/** `eventAt` in SQL. */
export const EVENT_AT_TEXT = `to_char(event_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`
export const OCTETS = 'case octets when 0 then octet_length(body) else octets end'

/** The JSON in SQL, for filters that look into it. */
export const BODY_JSON = `case octets when 0 then body else ${[
  [REF_ID, 'ref_id'] as const,
  [EVENT_AT, EVENT_AT_TEXT] as const,
  ...PHRASES.map((phrase, i) => [String.fromCharCode(FIRST_CODE + i), `'${phrase}'`] as const),
].reduce(
  (sql, [code, means]) => `replace(${sql}, chr(${code.charCodeAt(0)}), ${means})`,
  'substr(body, 2)',
)} end`
