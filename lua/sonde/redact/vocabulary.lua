--- Words that reveal nothing: those of languages, compilers, frameworks and
-- systems, which redaction leaves as they are.
-- @module sonde.redact.vocabulary
local vocabulary = {}

local function set(text)
  local words = {}
  for word in text:gmatch("%S+") do words[word] = true end
  return words
end

--- Words of languages, and what compilers and runtimes make by themselves.
vocabulary.language = set [[
  bool byte sbyte char wchar short ushort int uint long ulong nint nuint float double decimal
  string object void ref out in params this class value valuetype instance native unsigned
  signed int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 uintptr rune error
  any const static struct union enum interface func map chan operator new delete typename
  template async lambda Main main MoveNext Invoke BeginInvoke EndInvoke ctor cctor Finalize
  Dispose DisposeAsync ToString GetHashCode Equals Canon __Canon init dynamicClass DynamicClass
  lambda_method DisplayClass BackingField AnonymousType PrivateImplementationDetails StubHelpers
  IL_STUB IL_STUB_PInvoke IL_STUB_CLRtoCOM IL_STUB_InstantiatingStub IL_STUB_Array unknown
  native gowrap goexit thread Thread threads process external managed type reason generation
]]

--- Namespaces whose names stay.
vocabulary.namespaces = set "System Microsoft Interop Internal Windows MS"

--- Types of .NET's base library that stand without a namespace in readable
-- names of arguments.
vocabulary.types = set [[
  Action AggregateException ArgumentException Array ArraySegment AssemblyLoadContext
  AsyncMethodBuilderCore AsyncStateMachineBox AsyncTaskMethodBuilder AsyncVoidMethodBuilder
  Attribute BigInteger BinaryReader BinaryWriter BlockingCollection Boolean Buffer Byte
  CancellationToken CancellationTokenSource Channel ChannelReader ChannelWriter Char Claim
  ClaimsPrincipal Comparison ConcurrentBag ConcurrentDictionary ConcurrentQueue ConcurrentStack
  ConfiguredTaskAwaitable Console ContextCallback Convert CultureInfo DateOnly DateTime
  DateTimeKind DateTimeOffset Decimal Delegate Dictionary DirectoryInfo Double Encoding Entry
  Enum Enumerator EqualityComparer EventArgs EventHandler EventSource Exception ExecutionContext
  Expression FileInfo FileStream Func FunctionPointer GC Guid HashSet Hashtable HttpClient
  HttpContent HttpContext HttpMethod HttpRequest HttpRequestMessage HttpResponse
  HttpResponseMessage IAsyncEnumerable IAsyncEnumerator IAsyncDisposable IAsyncResult
  IAsyncStateMachine ICollection IComparable IComparer IConfiguration IDictionary IDisposable
  IEnumerable IEnumerator IEquatable IEqualityComparer IFormatProvider IHostBuilder IList
  ILogger ILoggerFactory IOException IPAddress IPEndPoint IQueryable IReadOnlyCollection
  IReadOnlyDictionary IReadOnlyList IServiceCollection IServiceProvider ISet ImmutableArray
  ImmutableDictionary ImmutableList Int128 Int16 Int32 Int64 IntPtr InvalidOperationException
  JsonDocument JsonElement JsonReaderOptions JsonSerializerOptions KeyValuePair Lazy LinkedList
  List LogLevel ManualResetEvent ManualResetEventSlim MemberInfo Memory MemoryStream MethodBase
  MethodInfo MethodTable Monitor NetworkStream Nullable Object ObjectHandleOnStack ParameterInfo
  Path Predicate PriorityQueue PropertyInfo Queue Random Range ReadOnlyMemory ReadOnlySequence
  ReadOnlySpan Regex RuntimeType SByte SafeHandle SafeWaitHandle SemaphoreSlim
  SendOrPostCallback Single Socket SocketAsyncEventArgs SortedDictionary SortedList Span
  SpinWait SqlCommand SqlConnection Stack StackTrace Stopwatch Stream StreamReader StreamWriter
  String StringBuilder StringComparison SynchronizationContext Task TaskAwaiter
  TaskCompletionSource TaskFactory TaskScheduler TcpClient TcpListener TextReader TextWriter
  ThreadLocal TimeOnly TimeSpan Timer TimerCallback Tuple Type UInt16 UInt32 UInt64 UIntPtr
  UTF8Encoding Unsafe Uri Utf8JsonReader Utf8JsonWriter ValueTask ValueTuple Vector Vector128
  Vector256 Vector512 Version Void VoidTaskResult WaitCallback WaitHandle WeakReference XElement
  XmlReader XmlWriter
]]

--- Elements of paths that every machine has.
vocabulary.path = set [[
  usr lib lib32 lib64 libexec share local bin sbin etc opt var tmp run home root proc self dev
  sys mnt srv Users Windows System32 SysWOW64 dotnet shared sdk packs host fxr runtimes linux
  win osx unix x64 x86 arm64 arm amd64 go pkg mod src build dist out obj publish Release Debug
  app Program Files x86_64-linux-gnu aarch64-linux-gnu
]]

--- Endings of file names that stay.
vocabulary.extensions = set [[
  dll exe ni so dylib sys pdb dbg debug cs fs vb go s c cc cpp cxx h hh hpp rs py js ts java kt
  lua nettrace netperf etl pb gz xz zip folded json txt log pprof svg html prof
]]

--- Keys of labels that are pprof's or ours, with values that stay in numbers.
vocabulary.label_keys = set [[
  thread thread_id process process_id type reason generation bytes request alignment goroutine
  pprof::base tid pid cpu state count
]]

--- Names of sample types that are known.
vocabulary.sample_types = set [[
  samples wall running managed oncpu cpu cswitch switches events alloc_objects alloc_space
  inuse_objects inuse_space objects space contentions delay contention exceptions exception
  pauses pause gc methods jit goroutine threadcreate heap allocs block mutex before after both
  time alloc count nanoseconds microseconds milliseconds seconds bytes kilobytes megabytes
  percent
]]

return vocabulary
