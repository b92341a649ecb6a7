/** The thread in which long JSON bodies are read. */
import { answerJobs } from '@postrider/runtime/thread-jobs'
import { readJson } from './json-reader.ts'

answerJobs((bytes: Uint8Array) => ({
  output: readJson(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)),
}))
