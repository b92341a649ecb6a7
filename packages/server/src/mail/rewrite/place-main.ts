/** The thread in which places of long HTML are found: answers each body with them. */
import { parentPort } from 'node:worker_threads'
import { threadReady } from '../../platform/thread-pool.ts'
import { findPlaces } from './find-places.ts'

parentPort?.on('message', (html: string) => parentPort?.postMessage(findPlaces(html)))
parentPort?.postMessage(threadReady)
