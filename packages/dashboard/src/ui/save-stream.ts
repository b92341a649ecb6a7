/**
 * A stream of the service as a file. Where the browser has a picker, it is written while it comes; elsewhere the
 * browser keeps it until it is whole.
 */
import { saveFile } from './save-file.ts'

type FilePicker = (o: { readonly suggestedName: string }) => Promise<{
  createWritable(): Promise<WritableStream<Uint8Array>>
}>

/** Call it in the handler of a click. False: the reader chose no file. */
export async function saveStream(o: {
  readonly name: string
  readonly open: () => PromiseLike<ReadableStream<Uint8Array>>
  readonly onBytes: (bytes: number) => void
  readonly signal: AbortSignal
}): Promise<boolean> {
  const picker = (globalThis as { readonly showSaveFilePicker?: FilePicker }).showSaveFilePicker
  let file: WritableStream<Uint8Array> | undefined
  try {
    file = await (await picker?.({ suggestedName: o.name }))?.createWritable()
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') return false
    throw error
  }
  let bytes = 0
  const counted = (await o.open()).pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        bytes += chunk.length
        o.onBytes(bytes)
        controller.enqueue(chunk)
      },
    }),
  )
  if (file !== undefined) {
    await counted.pipeTo(file, { signal: o.signal })
    return true
  }
  const blob = await new Response(counted).blob()
  o.signal.throwIfAborted()
  saveFile(o.name, [blob], blob.type)
  return true
}
