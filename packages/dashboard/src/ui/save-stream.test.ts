import { afterEach, expect, it, vi } from 'vitest'
import { saveStream } from './save-stream.ts'

afterEach(() => {
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

const streamOf =
  (...parts: readonly string[]) =>
  async () =>
    new Blob([parts.join('')]).stream()

/** A browser with a picker, and the file that the reader chose. */
function pickFile() {
  const file = { name: '', text: '', isClosed: false, isAborted: false }
  vi.stubGlobal('showSaveFilePicker', async (o: { readonly suggestedName: string }) => {
    file.name = o.suggestedName
    const decoder = new TextDecoder()
    return {
      createWritable: async () =>
        new WritableStream<Uint8Array>({
          write(chunk) {
            file.text += decoder.decode(chunk, { stream: true })
          },
          close() {
            file.isClosed = true
          },
          abort() {
            file.isAborted = true
          },
        }),
    }
  })
  return file
}

/** A browser without one: what it was given to keep. */
function keepFiles() {
  const kept: { name: string; blob: Blob }[] = []
  let made = new Blob()
  vi.spyOn(URL, 'createObjectURL').mockImplementation((blob) => {
    made = blob as Blob
    return 'blob:one'
  })
  vi.stubGlobal('showSaveFilePicker', undefined)
  vi.stubGlobal('setTimeout', () => 0)
  vi.stubGlobal('document', {
    createElement: () => {
      const link = { download: '', click: () => kept.push({ name: link.download, blob: made }) }
      return link
    },
  })
  return kept
}

const given = (open: () => Promise<ReadableStream<Uint8Array>>) => {
  const sizes: number[] = []
  const ending = new AbortController()
  const o = { name: 'mail.eml', open, onBytes: (bytes: number) => void sizes.push(bytes) }
  return { sizes, ending, o: { ...o, signal: ending.signal } }
}

it('writes into the chosen file while the stream comes, and counts its bytes', async () => {
  const file = pickFile()
  const { o, sizes } = given(streamOf('Grüße', ' from afar'))
  expect(await saveStream(o)).toBe(true)
  expect(file).toEqual({
    ...{ name: 'mail.eml', text: 'Grüße from afar' },
    ...{ isClosed: true, isAborted: false },
  })
  expect(sizes.at(-1)).toBe(17)
})

it('asks for nothing when the reader chooses no file', async () => {
  vi.stubGlobal('showSaveFilePicker', async () => {
    throw new DOMException('The user aborted a request.', 'AbortError')
  })
  const open = vi.fn(streamOf('never'))
  expect(await saveStream(given(open).o)).toBe(false)
  expect(open).not.toHaveBeenCalled()
})

it('tells why a file cannot be written', async () => {
  vi.stubGlobal('showSaveFilePicker', async () => {
    throw new DOMException('No permission', 'NotAllowedError')
  })
  await expect(saveStream(given(streamOf('x')).o)).rejects.toThrow('No permission')
})

it('leaves no half file behind when the reader stops it', async () => {
  const file = pickFile()
  const endless = async () =>
    new ReadableStream<Uint8Array>({ pull: (to) => to.enqueue(new Uint8Array(8)) })
  const { o, ending } = given(endless)
  const saving = saveStream({ ...o, onBytes: () => ending.abort(new Error('stopped')) })
  await expect(saving).rejects.toThrow('stopped')
  expect(file).toMatchObject({ isClosed: false, isAborted: true })
})

it('gives the browser the whole file where there is no picker', async () => {
  const kept = keepFiles()
  const { o, sizes } = given(streamOf('a,b\n', 'c,d\n'))
  expect(await saveStream(o)).toBe(true)
  expect(kept.map(({ name }) => name)).toEqual(['mail.eml'])
  expect(await kept[0]?.blob.text()).toBe('a,b\nc,d\n')
  expect(sizes.at(-1)).toBe(8)
})
