# frozen_string_literal: true

# Program providers for Tombolo as classes: one file without dependencies, to copy beside a provider. Ruby 3.0 or newer.
#
#     require_relative "tombolo"
#
#     class Note < Tombolo::Resource
#       def create(call)
#         File.write(call.planned["path"], call.planned["text"])
#         {id: call.planned["path"]}
#       end
#
#       def read(call)
#         ...                      # a hash of the current attributes, or nil if the object no longer exists
#       end
#     end
#
#     Tombolo.run(resources: {notes_note: Note})
#
# A method has the name of an action of docs/program-protocol.md. It returns the attributes that it knows; those that it leaves out are
# unchanged. The keys of hashes in requests are strings; those of results may be symbols. "implements" in the manifest lists the actions.
#
# The same program works with "mode": "one-shot" and "mode": "session" in the manifest. In a session, objects of the classes live as long as the
# process, and with "concurrency" above 1 methods run in several threads. To debug it, start it in an editor with TOMBOLO_LISTEN=/path/of/a.sock.
#
# Output that is printed after the import goes to standard error and is shown to the user. Whole numbers are exact, others are BigDecimal. Files
# are read as UTF-8.

require "bigdecimal"
require "json"

module Tombolo
  # From here on, only responses are written to standard output, whatever the program and its subprocesses print.
  OUT = $stdout.dup.binmode
  $stdout.reopen($stderr)
  $stdout.sync = true
  Encoding.default_external = Encoding::UTF_8
  private_constant :OUT

  # Fails a call with a message for the user. attribute is a path such as ["tags", "env"]; argument the number of a function's argument.
  class Error < StandardError
    attr_reader :detail, :attribute, :argument

    def initialize(summary, detail: nil, attribute: nil, argument: nil)
      super(summary)
      @detail, @attribute, @argument = detail, attribute, argument
    end
  end

  # Requests a retry: see "retry" in the manifest.
  class Temporary < Error; end

  # The call was cancelled.
  class Cancelled < Error
    def initialize
      super("The call was cancelled")
    end
  end

  # create, read, update and delete and, if the manifest lists them, validate, plan, import, upgrade and list, which returns results: hashes with
  # identity, display_name and object.
  class Resource; end

  # data and, if the manifest lists it, validate.
  class DataSource; end

  # open and, if the manifest lists them, validate, renew and close.
  class Ephemeral; end

  # invoke, which returns nothing and, if the manifest lists them, validate and plan.
  class Action; end

  # One call: the members of its request (config, planned, prior, state, private, identity, id, provider, planned_unknown and so on; nil if the
  # action has no such member), and methods to report more than the result.
  class Call
    attr_accessor :params
    attr_reader :warnings, :extra

    def initialize(params, &say)
      @params, @say = params, say
      @warnings, @extra = [], {}
      @cancelled = false
    end

    def method_missing(name, *args)
      args.empty? && name.match?(/\A[a-z_]+\z/) ? @params[name.to_s] : super
    end

    def respond_to_missing?(name, _all = false)
      @params.key?(name.to_s)
    end

    # Stores any JSON value with the object, for private of later calls.
    def keep(value)
      @extra["private"] = Tombolo.checked(value)
    end

    # Reports the identity of the object.
    def identify(identity)
      @extra["identity"] = Tombolo.checked(identity)
    end

    # Reports what already exists, so that it is stored if the call fails later.
    def made(attributes)
      @extra["state"] = Tombolo.checked(attributes)
    end

    # Reports when an ephemeral object has to be renewed, as an RFC 3339 time.
    def renew_at(time)
      @extra["renew_at"] = time.to_s
    end

    def warn(summary, detail: nil, attribute: nil)
      @warnings << Tombolo.diagnostic("warning", summary, detail, attribute)
    end

    # Returns the output values of a state of another configuration, as a hash, or nil if there is none. The host reads it: the method ends here
    # and is called again from the beginning, so it must not have had any effect before. Not in create, update and delete.
    def remote_state(backend, config = {}, workspace: "default")
      have = @params["remote_state"] || {}
      name = JSON.generate(Tombolo.plain({backend: backend, workspace: workspace, config: config}))
      return have[name] if have.key?(name)

      raise Asking, (have.keys << name).to_h { |one| [one, JSON.parse(one)] }
    end

    # Reports the progress of the call, and ends it if it was cancelled.
    def progress(message, fraction = nil)
      @say.call(message, fraction&.to_f)
      raise Cancelled if @cancelled
    end

    # Reports whether the call was cancelled.
    def cancelled?
      @cancelled
    end

    def cancel
      @cancelled = true
    end
  end

  # Handles the calls of the host. Classes are passed by type name; the others are methods or lambdas that get a call, except for functions, which
  # get the arguments. schema returns the schema, for manifests without one.
  def self.run(resources: {}, data: {}, ephemeral: {}, actions: {}, functions: {}, configure: nil, validate: nil, schema: nil)
    kinds = [resources, data, ephemeral, actions].map { |group| group.to_h { |name, type| [name.to_s, type.new] } }
    about = {"configure" => configure, "validate" => validate, "schema" => schema && ->(call) { {schema: schema.call(call)} }}
    functions = functions.transform_keys(&:to_s)
    host = Host.new(kinds, about, functions, OUT)
    exit(host.one_shot(ARGV[0])) unless ARGV.empty?
    path = ENV["TOMBOLO_LISTEN"].to_s
    return host.session($stdin.binmode) if path.empty?

    listen(path) { |connection| Host.new(kinds, about, functions, connection).session(connection) }
  end

  # Yields each connection to a socket, which only this user can reach, until the process is ended.
  def self.listen(path)
    require "socket"
    File.delete(path) if File.socket?(path) # of a program that was killed
    mask = File.umask(0o177)
    listener = UNIXServer.new(path)
    File.umask(mask)
    $stderr.puts("Waiting for connections. The host needs this variable in its environment, with the name of your provider: " \
                 "TOMBOLO_PROGRAM_DEBUG=NAME=unix:#{File.absolute_path(path)}")
    loop do
      Thread.new(listener.accept) do |connection|
        yield connection
      rescue SystemCallError, IOError
        nil # the host has ended
      ensure
        connection.close
      end
    end
  end
  private_class_method :listen

  def self.diagnostic(severity, summary, detail, attribute)
    summary, detail = [summary, detail].map { |text| String.new(text.to_s, encoding: "UTF-8").scrub }
    summary = "It failed" if summary.empty?
    {severity: severity, summary: summary, detail: detail.empty? ? nil : detail, attribute: attribute}.compact
  end

  # Returns a value as it is written, or raises an exception, so that the line of the program that is at fault is shown.
  def self.checked(value)
    value = plain(value)
    JSON.generate(value, max_nesting: 0)
    value
  end

  # Returns a value as it is written: hosts also accept numbers as text, which keeps all digits.
  def self.plain(value)
    case value
    when Hash then value.to_h { |key, one| [key.to_s, plain(one)] }
    when String, Symbol, Integer, Float, true, false, nil then value
    when BigDecimal then value.finite? ? value.to_s("F") : raise(TypeError, "#{value} is no value of JSON")
    when Enumerable then value.map { |one| plain(one) }
    else raise TypeError, "#{value.inspect} is no value of JSON"
    end
  end

  class Missing < StandardError; end

  # Ends a method until the host has read the states that it needs.
  class Asking < Exception # rubocop:disable Lint/InheritException
    attr_reader :states

    def initialize(states)
      super("states are needed")
      @states = states
    end
  end

  # Performs calls.
  class Host
    KINDS = {"data" => 1, "open" => 2, "renew" => 2, "close" => 2, "invoke" => 3}.freeze

    def initialize(kinds, about, functions, out)
      @kinds, @about, @functions, @out = kinds, about, functions, out
      @lock = Mutex.new
    end

    def find(action, params)
      return @functions[params["function"]] if action == "call"
      return @about[action] unless params.key?("type")

      kinds = KINDS.key?(action) ? [@kinds[KINDS[action]]] : @kinds
      target = kinds.map { |kind| kind[params["type"]] }.find { |one| one.respond_to?(action) }
      target&.method(action)
    end

    def perform(action, call)
      method = find(action, call.params)
      raise Missing, "The program does not know #{action} of #{call.type || call.function || "the provider"}." unless method
      return perform_function(method, call) if action == "call"

      result = method.call(call)
      answer =
        case action
        when "create", "read", "update", "import", "upgrade", "data" then call.extra.merge("state" => result)
        when "open" then call.extra.merge("result" => result)
        when "list" then {"results" => result.to_a}
        when "renew", "delete", "close", "invoke" then call.extra.reject { |key, _| key == "state" }
        else (result.is_a?(Hash) ? result : {}).transform_keys(&:to_s)
        end
      answer["diagnostics"] = call.warnings + (answer["diagnostics"] || []) unless call.warnings.empty?
      answer
    rescue Asking => e
      {"remote_state" => e.states}
    end

    def perform_function(function, call)
      {"result" => function.call(*call.args)}
    rescue Error => e
      {"error" => {"message" => [e.message, e.detail].compact.join(": "), "argument" => e.argument}}
    end

    # The output of a failed call.
    def failure(call, error)
      if error.is_a?(Error)
        problem = Tombolo.diagnostic("error", error.message, error.detail, error.attribute)
      else
        $stderr.puts(error.full_message(highlight: false))
        problem = Tombolo.diagnostic("error", "#{error.class}: #{error.message}", where(error), nil)
      end
      call.extra.merge("diagnostics" => call.warnings + [problem])
    end

    # Returns the position of a failure: the last one in a file beside this one, because the others are in libraries.
    def where(error)
      frame = (error.backtrace_locations || []).find do |one|
        one.absolute_path && one.absolute_path != __FILE__ && one.absolute_path.start_with?("#{__dir__}/")
      end
      return "The program has a bug; the way there is in what it wrote to standard error." unless frame

      "The program has a bug: #{File.basename(frame.path)}, line #{frame.lineno}, in #{frame.label}. " \
        "All of the way there is in what it wrote to standard error."
    end

    # Performs the one call of a process, and returns its exit status.
    def one_shot(action)
      call = Call.new({}) do |message, fraction|
        $stderr.puts(JSON.generate({"@level" => "info", "@message" => message, "@progress" => fraction}.compact))
      end
      begin
        Signal.trap("TERM") { raise Cancelled }
        call.params = read($stdin.binmode.read)
        text, status = text(perform(action, call)), 0
      rescue Missing => e
        $stderr.puts(e.message)
        return 1
      rescue Exception => e # including exit in a method
        text, status = text(failure(call, e)), e.is_a?(Temporary) ? 75 : 1
      end
      write(text)
      status
    end

    def session(lines)
      calls = {}
      lines.each_line do |line|
        message = read(line)
        id, params = message["id"], message["params"] || {}
        if message["method"] == "initialize"
          if params["attached"] # this process was not started by the host
            ENV.update(params["attached"]["environment"])
            Dir.chdir(params["attached"]["directory"])
          end
          write(text({jsonrpc: "2.0", id: id, result: {protocol: 1}}))
        elsif message["method"] == "$/cancelRequest"
          calls[params["id"]]&.cancel
        elsif id
          call = calls[id] = Call.new(params) { |text, fraction| tell(id, text, fraction) }
          Thread.new { serve(calls, id, message["method"], call) }.report_on_exception = false
        end
      end
    end

    def tell(id, message, fraction)
      write(text({jsonrpc: "2.0", method: "$/progress", params: {id: id, message: message, fraction: fraction}.compact}))
    end

    def serve(calls, id, action, call)
      reply = text({jsonrpc: "2.0", id: id, result: perform(action, call)})
    rescue Missing => e
      reply = text({jsonrpc: "2.0", id: id, error: {code: -32601, message: e.message}})
    rescue Exception => e
      code = e.is_a?(Temporary) ? 75 : e.is_a?(Cancelled) ? -32800 : 1
      data = failure(call, e)
      reply = text({jsonrpc: "2.0", id: id, error: {code: code, message: data["diagnostics"].last[:summary], data: data}})
    ensure
      calls.delete(id)
      write(reply) if reply
    end

    def read(text)
      JSON.parse(text.force_encoding(Encoding::UTF_8), decimal_class: BigDecimal, max_nesting: false)
    end

    def text(message)
      JSON.generate(Tombolo.plain(message), max_nesting: 0) << "\n"
    end

    def write(text)
      @lock.synchronize do
        @out.write(text)
        @out.flush
      end
    end
  end
  private_constant :Host, :Missing, :Asking
end
