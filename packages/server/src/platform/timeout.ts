/** Rejects when it takes longer; the work itself goes on, and its end is nobody's concern any more. */
export function withTimeout<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const timer = setTimeout(() => reject(new TimeoutError(timeoutMs)), timeoutMs)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

export class TimeoutError extends Error {
  constructor(timeoutMs: number) {
    super(`took longer than ${timeoutMs} ms`)
    this.name = 'OverdueError'
  }
}
