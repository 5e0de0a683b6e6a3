using System.Text.Json;

const string endpoint = "https://auth.example.org/o/introspect/";
var http = new HttpClient();
var app = WebApplication.CreateBuilder(args).Build();

RouteHandlerBuilder Need(RouteHandlerBuilder route, string scope) => route.AddEndpointFilter(async (context, next) =>
{
    var sent = context.HttpContext.Request.Headers.Authorization.ToString();
    if (!sent.StartsWith("Bearer ", StringComparison.OrdinalIgnoreCase) || sent.Length == 7) return Results.Unauthorized();
    var answer = await http.PostAsync(endpoint, new FormUrlEncodedContent(new Dictionary<string, string>
    {
        ["token"] = sent[7..],
        ["client_id"] = Environment.GetEnvironmentVariable("CLIENT_ID")!,
        ["client_secret"] = Environment.GetEnvironmentVariable("CLIENT_SECRET")!,
    }));
    answer.EnsureSuccessStatusCode(); // 500
    var token = await answer.Content.ReadFromJsonAsync<JsonElement>();
    if (!token.GetProperty("active").GetBoolean()) return Results.Unauthorized();
    if (token.GetProperty("token_type").GetString() != "Bearer") return Results.Unauthorized();
    if (token.TryGetProperty("cnf", out _)) return Results.Unauthorized();
    var scopes = token.TryGetProperty("scope", out var granted) ? granted.GetString()!.Split(' ') : [];
    if (!scopes.Contains(scope)) return Results.StatusCode(403);
    context.HttpContext.Items["sub"] = token.GetProperty("sub").GetString();
    return await next(context);
});

Need(app.MapGet("/orders", (HttpContext context) => new { of = context.Items["sub"] }), "read");
app.Run();
