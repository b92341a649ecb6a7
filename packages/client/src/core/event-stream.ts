/**
 * Events as they are committed (docs/reference/events.md#stream): one stream after the other, each from
 * where the one before ended. What the caller has got is not asked for again; what the service could not
 * keep for it comes as a gap.
 */
import type { ListedEvent } from '@postrider/contract'
import { PostriderError } from './errors.ts'
import type { ByteStream } from './open-stream.ts'
import { isPassing, waitMsMax, waitMsMin } from './retry.ts'

/** Events that this stream left out. Those of a slow reader can be had: by a stream from the last id before. */
export interface EventGap {
  readonly event: 'gap'
  /** `slow_reader`: events came faster than they were taken. `unknown_event`: there is no such id in the last 24 h. */
  readonly reason: string
  /** How many were left out; null where that is not known. */
  readonly count: number | null
}

export type StreamedEvent = ListedEvent | EventGap

export interface EventStreamDeps {
  readonly open: (lastEventId: string | undefined) => Promise<ByteStream>
  readonly wait: (ms: number) => Promise<void>
  readonly random: () => number
}

/** Ends only with an error that does not pass, or when its caller leaves the loop. */
export async function* streamEvents(
  { open, wait, random }: EventStreamDeps,
  from: string | undefined,
): AsyncGenerator<StreamedEvent, void, undefined> {
  let lastEventId = from
  for (let failures = 0; ; failures += 1) {
    try {
      for await (const item of readEvents(await open(lastEventId))) {
        failures = 0
        if (item.event !== 'gap') lastEventId = item.event_id
        yield item
      }
    } catch (error) {
      if (!(error instanceof PostriderError) || !mayComeBack(error)) throw error
    }
    await wait(Math.min(waitMsMax, waitMsMin * 2 ** failures) * (0.5 + random() / 2))
  }
}

function mayComeBack(error: PostriderError): boolean {
  return error.status === 429 || isPassing(error)
}

/** More than the largest event has. */
const BLOCK_CHARS_MAX = 128 * 1024 * 1024

async function* readEvents(bytes: ByteStream): AsyncGenerator<StreamedEvent, void, undefined> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of bytes) {
    const looked = Math.max(0, text.length - 1)
    text += decoder.decode(chunk, { stream: true })
    let begin = 0
    for (let end = text.indexOf('\n\n', looked); end >= 0; end = text.indexOf('\n\n', begin)) {
      const item = readBlock(text.slice(begin, end))
      begin = end + 2
      if (item !== undefined) yield item
    }
    text = text.slice(begin)
    if (text.length > BLOCK_CHARS_MAX) throw notOurs('An event of the stream is too large')
  }
}

/** Undefined: a comment, or a field for browsers. */
function readBlock(block: string): StreamedEvent | undefined {
  let name = ''
  let data = ''
  for (const line of block.split('\n')) {
    if (line.startsWith('event: ')) name = line.slice('event: '.length)
    else if (line.startsWith('data: ')) data = line.slice('data: '.length)
  }
  if (data === '') return undefined
  try {
    const value = JSON.parse(data) as ListedEvent
    return name === 'gap' ? { ...(value as unknown as EventGap), event: 'gap' } : value
  } catch {
    throw notOurs('The stream has an event that is no JSON')
  }
}

function notOurs(message: string): PostriderError {
  return new PostriderError(message, { status: 200, code: 'unexpected_response' })
}
