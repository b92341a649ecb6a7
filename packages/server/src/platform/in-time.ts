/** Rejects when it takes longer; the work itself goes on, and its end is nobody's concern any more. */
export function inTime<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const timer = setTimeout(() => reject(new OverdueError(timeoutMs)), timeoutMs)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

export class OverdueError extends Error {
  constructor(timeoutMs: number) {
    super(`took longer than ${timeoutMs} ms`)
    this.name = 'OverdueError'
  }
}
