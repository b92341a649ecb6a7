/** Whether a host name of a URL means this machine: 127.0.0.0/8, ::1, or localhost and what is below it. */
export function isLoopbackName(hostname: string): boolean {
  return /^(?:127\.\d+\.\d+\.\d+|\[::1\]|(?:.+\.)?localhost)$/.test(hostname)
}
